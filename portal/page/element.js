/**
 * Makes an HTML element. Children are elements or text, and text is never read as HTML: names that come from services
 * cannot become part of the page.
 * @param {string} name of the element
 * @param {Object} [properties] set as properties where there are such, else as attributes; undefined ones are left out
 * @param {...(Node|string|null|false|undefined)} children what is empty or false is passed over
 * @returns {HTMLElement}
 */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined) {
      continue;
    }
    if (key in made) {
      made[key] = value;
    } else {
      made.setAttribute(key, value);
    }
  }
  made.append(...children.filter((child) => child || child === 0));
  return made;
}

/** A button that does something, and never sends a form. */
export function button(text, onclick, properties = {}) {
  return element('button', {type: 'button', onclick, ...properties}, text);
}

let ids = 0;

/** An id that no other element has: labels and regions point to each other by it. */
export function newID(prefix) {
  return `${prefix}-${++ids}`;
}

/** "1 service", "7 services". */
export function many(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
