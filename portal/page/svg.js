const namespace = 'http://www.w3.org/2000/svg';

/** Sets attributes of an SVG element, as far as they differ. */
export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (node.getAttribute(name) !== String(value)) {
      node.setAttribute(name, value);
    }
  }
  return node;
}

/** Makes an SVG element. */
export function svg(name, attributes = {}, ...children) {
  const node = set(document.createElementNS(namespace, name), attributes);
  node.append(...children);
  return node;
}
