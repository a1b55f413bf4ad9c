// Keyboard shortcuts that several parts of the page share.

/** Moves the focus among elements with the arrow keys, Home and End. */
export function moveFocus(event, elements) {
  const at = elements.indexOf(document.activeElement);
  const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: elements.length - 1}[event.key];
  if (to !== undefined && elements[to] && !event.altKey && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    elements[to].focus();
  }
}

/** Calls action when key is typed outside of a field. */
export function onKey(key, action) {
  document.addEventListener('keydown', (event) => {
    const typing = event.target.closest?.('input, textarea, select, dialog');
    if (event.key === key && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      action();
    }
  });
}
