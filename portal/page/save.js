import {button, element} from './element.js';

/** A button that saves a body as a file: the page shows neither all of a long one nor pictures. */
export function saveButton(bytes, type, name) {
  return button('Save', () => {
    const href = URL.createObjectURL(new Blob([bytes], {type}));
    element('a', {href, download: name}).click();
    setTimeout(() => URL.revokeObjectURL(href));
  }, {className: 'small', 'aria-label': 'Save the body'});
}
