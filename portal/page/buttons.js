import {button, element} from './element.js';

/** A button that copies a text, and confirms that. text returns it, or {text, note} with what to say of it. */
export function copyButton(text, label, title = 'Copy') {
  const node = button(
    title,
    async () => {
      const {text: copied, note = ''} = [text()].map((one) => (typeof one === 'string' ? {text: one} : one))[0];
      node.textContent = (await copy(copied)) ? `Copied${note}` : 'Press Ctrl+C';
      node.removeAttribute('aria-label'); // what the button says is its name, then
      setTimeout(
        () => {
          node.textContent = title;
          node.setAttribute('aria-label', label);
        },
        note ? 5000 : 1500,
      );
    },
    {className: 'small', 'aria-label': label, 'aria-live': 'polite'},
  );
  return node;
}

/**
 * Copies a text. If the Clipboard API is not available, as on plain HTTP from another machine, it tries the old way.
 */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const held = element('textarea', {value: text, className: 'visually-hidden', readOnly: true});
    const focused = document.activeElement;
    document.body.append(held);
    held.select();
    const copied = document.execCommand('copy');
    held.remove();
    focused?.focus();
    return copied;
  }
}

/** A button that saves a body as a file: the page shows neither all of a long one nor pictures. */
export function saveButton(bytes, type, name) {
  return button(
    'Save',
    () => {
      const href = URL.createObjectURL(new Blob([bytes], {type}));
      element('a', {href, download: name}).click();
      setTimeout(() => URL.revokeObjectURL(href));
    },
    {className: 'small', 'aria-label': 'Save the body'},
  );
}
