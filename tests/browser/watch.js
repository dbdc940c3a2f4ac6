// Runs in every page under test before its own script: knows when the script is quiet, compares trees, names the focus.

const watched = window.watched = {
  requests: 0,
  quiet: true,

  isQuiet: () => watched.quiet && document.readyState === 'complete',

  focus() {
    const it = document.activeElement;
    const cell = it.closest('[data-t] td');
    if (it === document.body) return 'nothing';
    if (!cell) return it.id || it.dataset.do || it.getAttribute('aria-label') || it.textContent.trim() || it.localName;
    const row = cell.closest('[data-row]');
    return [cell.closest('[data-t]').dataset.t, row.dataset.row, [...row.querySelectorAll('td')].indexOf(cell)].join(' ');
  },

  grid() {  // the number of the grid that has the focus, or null
    const grid = document.activeElement.closest('[role=grid]');
    return grid && [...document.querySelectorAll('[role=grid]')].indexOf(grid);
  },

  isVisiblyFocused() {
    const style = getComputedStyle(document.activeElement);
    return document.activeElement === document.body || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0);
  },

  overflow() {  // what makes the page wider than the screen; nothing if it is not
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const scrolls = node => node && node !== document.body
      && (getComputedStyle(node).overflowX !== 'visible' || scrolls(node.parentElement));
    const wide = node => node.getBoundingClientRect().right > width + 0.5 && !scrolls(node.parentElement);
    return [...document.body.querySelectorAll('*')].filter(wide).slice(0, 5).map(node => node.outerHTML.slice(0, 80));
  },

  smallTargets() {  // what is smaller than 24 px in a direction (WCAG 2.5.8), cells and links in text aside
    const targets = [...document.querySelectorAll('button, select, input, summary')].filter(node => node.checkVisibility());
    const small = targets.filter(node => node.offsetWidth < 24 || node.offsetHeight < (node.type === 'range' ? 16 : 24));
    return small.map(node => `${node.offsetWidth} x ${node.offsetHeight}: ${node.outerHTML.slice(0, 80)}`);
  },

  luminance(color) {  // of 'rgb(r, g, b)', roughly, 0 to 1
    const [r, g, b] = color.match(/[\d.]+/g).map(Number);
    return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  },

  // The first difference between <main> and the one in `html`, in words; '' if there is none. What belongs to the
  // person and not to the state is left out: light, an open <details>, and the focusability of the focused element.
  difference(html) {
    const drawn = new DOMParser().parseFromString(html, 'text/html').querySelector('main');
    return watched.compare(document.querySelector('main'), drawn, 'main');
  },

  compare(live, drawn, where) {
    if (live.nodeName !== drawn.nodeName) return `${where}: <${live.nodeName}> instead of <${drawn.nodeName}>`;
    if (live.nodeType !== Node.ELEMENT_NODE)
      return live.nodeValue === drawn.nodeValue ? '' : `${where}: "${live.nodeValue}" instead of "${drawn.nodeValue}"`;
    const [mine, theirs] = [watched.attributes(live), watched.attributes(drawn)];
    if (mine !== theirs) return `${where}: ${mine} instead of ${theirs}`;
    const shows = 'defaultValue' in live && !['range', 'checkbox', 'radio', 'file'].includes(live.type);
    if (shows && live !== document.activeElement && live.value !== live.defaultValue)
      return `${where}: shows "${live.value}" instead of "${live.defaultValue}"`;
    if (live.type === 'checkbox' && live.checked !== live.defaultChecked) return `${where}: checked is ${live.checked}`;
    if (live.childNodes.length !== drawn.childNodes.length)
      return `${where}: ${live.childNodes.length} children instead of ${drawn.childNodes.length}`;
    for (let i = 0; i < live.childNodes.length; i++) {
      const child = live.childNodes[i];
      const name = child.id ? `#${child.id}` : `${child.nodeName.toLowerCase()}[${i}]`;
      const found = watched.compare(child, drawn.childNodes[i], `${where} > ${name}`);
      if (found) return found;
    }
    return '';
  },

  attributes(node) {
    const isOurs = ({name, value}) => name === 'data-lit' || (name === 'open' && node.localName === 'details')
      || (name === 'tabindex' && value === '-1' && node === document.activeElement);
    return [...node.attributes].filter(each => !isOurs(each)).map(each => `${each.name}="${each.value}"`).sort().join(' ');
  },
};

const plainFetch = window.fetch;
window.fetch = (...request) => {
  watched.requests++;
  watched.quiet = false;
  return plainFetch(...request);
};
document.addEventListener('settled', () => { watched.quiet = true; });
