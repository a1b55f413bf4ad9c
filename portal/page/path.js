import {element} from './element.js';

/**
 * The path of an operation, with its port unless that is the usual one. It is struck out if the operation is deprecated;
 * className is that of the word which says so, "unseen" where only screen readers need it.
 */
export function pathView({port, path, deprecated}, className = 'deprecated') {
  const text = (port === '443' ? '' : `:${port}`) + path;
  return element('span', {className: 'path'}, deprecated ? element('s', {}, text) : text,
    deprecated && element('span', {className}, ' deprecated'));
}
