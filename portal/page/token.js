// The token of whom calls are made for. It stays in this tab, and ends with it.

const name = 'token';
const input = document.getElementById('token');

let token = stored();
input.value = token;

function stored() {
  try {
    return sessionStorage.getItem(name) || '';
  } catch { // the browser keeps nothing: so it lasts until the page is loaded again
    return '';
  }
}

// onToken has changed called whenever another token is given.
export function onToken(changed) {
  input.addEventListener('change', () => {
    token = input.value.trim().replace(/^bearer +/i, '');
    try {
      sessionStorage.setItem(name, token);
    } catch { /* see stored */ }
    changed();
  });
}

// authorization returns the headers that say who calls.
export function authorization() {
  return token ? {Authorization: `Bearer ${token}`} : {};
}
