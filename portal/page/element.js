/**
 * Makes an HTML element. Children are elements or text; text is never parsed as HTML, so that names from services
 * cannot become markup.
 * @param {string} name of the element
 * @param {Object} [properties] set as properties where they exist, otherwise as attributes; undefined ones are left out
 * @param {...(Node|string|null|false|undefined)} children empty and false ones are left out
 * @returns {HTMLElement}
 */
export function element(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined) {
      continue;
    }
    if (key in node) {
      node[key] = value;
    } else {
      node.setAttribute(key, value);
    }
  }
  node.append(...children.filter((child) => child || child === 0));
  return node;
}

/** A text from outside with its control characters as in JSON, also those that reverse the rest of a line. */
export function printable(text) {
  return String(text).replace(
    /(?![\t\n]|\r\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A text from outside in a line of other texts, whose direction it does not change. */
export function isolated(text) {
  return element('bdi', {}, printable(text));
}

/** Draws anew what is in a node. If a link there has the focus, the one with the same address gets it. */
export function redraw(node, ...children) {
  const focused = node.querySelector('a:focus')?.getAttribute('href');
  node.replaceChildren(...children);
  if (focused) {
    node.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({preventScroll: true});
  }
}

/** Makes these the children of a node. Those that are there already, in this order, are not touched. */
export function arrange(node, children) {
  const wanted = new Set(children);
  for (const child of [...node.children].filter((one) => !wanted.has(one))) {
    child.remove();
  }
  let next = node.firstElementChild;
  for (const child of children) {
    if (child === next) {
      next = next.nextElementSibling;
    } else {
      node.insertBefore(child, next);
    }
  }
}

/** A button with an action, which never submits a form. */
export function button(text, onclick, properties = {}) {
  return element('button', {type: 'button', onclick, ...properties}, text);
}

let ids = 0;

/** An id that no other element has, to link labels and regions. */
export function newID(prefix) {
  return `${prefix}-${++ids}`;
}

/** "1 service", "7 services"; text writes the number. */
export function pluralize(number, noun, text = String) {
  return `${text(number)} ${noun}${number === 1 ? '' : 's'}`;
}
