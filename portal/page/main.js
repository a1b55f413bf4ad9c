import {element} from './element.js';
import {readServices} from './document.js';
import {serviceView} from './service.js';
import {authorization, onToken} from './token.js';

const services = document.getElementById('services');
const notices = document.getElementById('notices');
const search = document.getElementById('search');
const count = document.getElementById('count');

let views = []; // of the operations: {node, section, text}
let loads = 0; // begun; what an earlier one brings is for another token

// load asks the portal what is on the bus and shows it.
async function load() {
  const mine = ++loads;
  views = [];
  services.replaceChildren();
  notices.replaceChildren();
  count.textContent = 'Asking the bus …';
  try {
    const description = await fetchDocument();
    if (mine === loads) {
      show(description);
    }
  } catch (error) {
    if (mine !== loads) {
      return;
    }
    count.textContent = '';
    const again = element('button', {type: 'button', onclick: load}, 'Try again');
    notices.append(element('p', {className: 'notice bad', role: 'alert'}, `The bus cannot be read: ${error.message} `, again));
  }
}

async function fetchDocument() {
  const response = await fetch('openapi.json', {headers: {Accept: 'application/json', ...authorization()}});
  if (response.ok) {
    return response.json();
  }
  const problem = await response.json().catch(() => ({}));
  throw new Error(problem.detail || `the portal answers ${response.status}.`);
}

function show(description) {
  document.getElementById('address').textContent = description.servers?.[0]?.url || '';
  for (const line of (description.info.description || '').split('\n').filter(Boolean)) {
    notices.append(element('p', {className: 'notice'}, line));
  }
  for (const service of readServices(description)) {
    const view = serviceView(service);
    services.append(view.section);
    views.push(...view.operations);
  }
  filter();
}

// filter hides what does not have every word of the search.
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const sections = new Set();
  let shown = 0;
  for (const {node, section, text} of views) {
    const found = words.every((word) => text.includes(word));
    node.hidden = !found;
    if (found) {
      sections.add(section);
      shown++;
    }
  }
  for (const section of services.children) {
    section.hidden = !sections.has(section);
  }
  count.textContent = summary(shown, sections.size, words.length > 0);
}

function summary(operations, hosts, searching) {
  if (views.length === 0) {
    return 'No service has an endpoint for you yet. Start one and reload this page, or give another token.';
  }
  if (operations === 0) {
    return 'Nothing is found. Try fewer words.';
  }
  const many = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;
  return `${many(operations, 'operation')} of ${many(hosts, 'service')}${searching ? ' found' : ''}`;
}

onToken(load);
search.addEventListener('input', filter);
document.addEventListener('keydown', (event) => {
  const typing = document.activeElement?.matches('input, textarea, select');
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  }
});
load();
