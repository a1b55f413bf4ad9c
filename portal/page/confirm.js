import {button, element, newID} from './element.js';

/**
 * Asks before something is done. content is shown below the title.
 * @returns {{done: Promise<boolean>, title: Element, act: Element}} the promise is of whether to do it; title and act, the
 *   button that does it, may change meanwhile
 */
export function ask(title, label, ...content) {
  const heading = element('h2', {id: newID('question')}, title);
  const act = element('button', {value: 'act'}, label);
  const dialog = element(
    'dialog',
    {'aria-labelledby': heading.id},
    element(
      'form',
      {method: 'dialog'},
      heading,
      ...content,
      element(
        'div',
        {className: 'buttons'},
        act,
        button('Cancel', () => dialog.close(), {className: 'plain', autofocus: true}),
      ),
    ),
  );
  document.body.append(dialog);
  const done = new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      resolve(dialog.returnValue === 'act');
      dialog.remove();
    });
  });
  dialog.showModal();
  return {done, title: heading, act};
}
