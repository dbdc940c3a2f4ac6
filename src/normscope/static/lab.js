// The one script. Python draws every page; this carries what a person does to it and patches the page in place.
// A request is /PATH?STATE&do=FIELD:VALUE&patch= ; its answer is the new state's query and the regions that changed.

const main = document.getElementById('main');
const all = (selector, root = main) => [...root.querySelectorAll(selector)];
const byId = id => document.getElementById(id);

// ---- Transport: one request under way; what happens meanwhile waits for the next one. None is ever aborted.

let shown = main.dataset.query ?? '';  // the state that is drawn
let waiting = [];                      // actions not sent yet: {field, value, push, isMove}
let flying = [];                       // the actions that the request under way carries
let goal = null;                       // the state that Back or Forward asks for
let busy = false;
let resting;                           // the timer that says when nothing more comes

function act(field, value, push, isMove = false) {  // push: whether Back shall return to the state before
  waiting = queue(waiting, {field, value, push, isMove});
  run();
}

function queue(actions, next) {  // a newer value of the same field takes the place of the last one
  const last = actions.at(-1);
  if (last?.field !== next.field || next.field === 'undo') return [...actions, next];
  return [...actions.slice(0, -1), {...next, push: last.push || next.push}];
}

async function run() {
  if (busy) return;
  busy = true;
  clearTimeout(resting);
  try {
    for (let request = next(); request;) request = await finish(request);
  } finally {
    busy = false;
    if (late.size) resting = setTimeout(rest, 100);
    else rest();
  }
}

function rest() {
  drawLate();
  document.dispatchEvent(new Event('settled'));
}

function next() {  // the request for what waits, if anything does
  if (goal === null && !waiting.length) return null;
  const asked = goal;
  flying = asked === null ? waiting.splice(0) : [];
  goal = null;
  const actions = flying.map(({field, value}) => `&do=${encodeURIComponent(`${field}:${value}`)}`);
  const state = asked ?? shown + actions.join('');
  const was = asked === null ? '' : encodeURIComponent(shown || '&');  // '&' is a query with nothing in it
  return {asked, sent: flying, answer: ask(`${location.pathname}?${state}&patch=${was}`)};
}

async function finish({asked, sent, answer}) {  // show its answer; the next request is under way meanwhile
  const {ok, text} = await answer ?? {}, isNew = asked === null && goal === null;
  flying = [];
  if (text === undefined) {  // the server cannot be reached
    waiting = waiting.reduce(queue, sent);
    goal ??= asked;
    refresh();
    return null;
  }
  if (ok) shown = text.split('\n', 1)[0];
  const request = next();
  const push = sent.some(action => action.push), canWait = sent.length && sent.every(action => action.isMove);
  if (ok) draw(text, {push, isNew, canWait});
  else if (asked !== null) location.reload();  // an address without a drawing has a page of its own
  refresh();
  return request;
}

async function ask(address) {
  const slow = setTimeout(() => main.setAttribute('aria-busy', 'true'), 300);
  try {
    const answer = await fetch(address);
    const text = await answer.text();
    complain(answer.ok ? '' : `This change was refused (${answer.status}); the page stays as it was.`);
    return {ok: answer.ok, text};
  } catch {
    complain('The server does not answer. Your change is kept and sent again with the next one.');
    return null;
  } finally {
    clearTimeout(slow);
    main.removeAttribute('aria-busy');
  }
}

function complain(text) {
  byId('offline').hidden = !text;
  if (byId('offline').textContent !== text) byId('offline').textContent = text;
}

// ---- Patching keeps the nodes, and with them focus, caret, scrolling and CSS transitions.

function draw(text, {push, isNew, canWait}) {  // isNew: the address does not know this state yet
  const focused = document.activeElement;
  if (!canWait) drawLate();
  for (const {content: {firstChild: drawn}} of all('template', parsed(text.slice(shown.length)))) {
    const old = byId(drawn.id);
    sight.observe(old);
    if (canWait && unseen.has(old)) late.set(old, drawn);
    else {
      late.delete(old);
      patch(old, drawn);
    }
  }
  main.dataset.query = shown;
  if (!focused.isConnected) byId(focused.id)?.focus();
  if (isNew) record(push);
  say(byId('say')?.textContent, 500);
}

// While a hand moves something, what is out of sight waits: it is drawn when it comes into sight or the hand rests.

const unseen = new WeakSet(), late = new Map();  // a region: what shall stand there

const sight = new IntersectionObserver(seen => {
  for (const {target, isIntersecting} of seen)
    if (isIntersecting) {
      unseen.delete(target);
      drawLate(target);
    } else unseen.add(target);
});

function drawLate(region = null) {  // one region, or all of them
  const drawn = [...late].filter(([old]) => region === null || old === region);
  for (const [old, next] of drawn) {
    late.delete(old);
    patch(old, next);
  }
  if (!drawn.length) return;
  refresh();
  say(byId('say')?.textContent, 500);
}

function parsed(html) {
  const template = document.createElement('template');
  template.innerHTML = html;
  return template.content;
}

function patch(old, drawn) {  // make `old` look like `drawn`
  if (old === edited?.cell) edited.drawn = drawn;
  else if (old.nodeType !== Node.ELEMENT_NODE) old.nodeValue = drawn.nodeValue;
  else if (!old.isEqualNode(drawn)) {
    for (const {name, value} of drawn.attributes)
      if (old.getAttribute(name) !== value && !isOurs(old, name)) old.setAttribute(name, value);
    for (const {name} of [...old.attributes]) {
      if (drawn.hasAttribute(name) || isOurs(old, name)) continue;
      if (name === 'tabindex' && old === document.activeElement) old.tabIndex = -1;  // else it would lose focus
      else old.removeAttribute(name);
    }
    patchChildren(old, drawn);
  }
}

function patchChildren(old, drawn) {
  let at = old.firstChild;
  const drop = () => { const gone = at; at = at.nextSibling; gone.remove(); };
  for (const next of [...drawn.childNodes]) {
    while (at && !isWanted(at, next)) drop();
    if (at && alike(at, next)) {
      patch(at, next);
      at = at.nextSibling;
    } else old.insertBefore(next, at);
  }
  while (at) drop();
}

const alike = (a, b) => a.nodeName === b.nodeName && (a.id ?? '') === (b.id ?? '');

function isWanted(node, next) {  // whether `next` or a later sibling of it is drawn where `node` could be kept
  while (next && !alike(node, next)) next = next.nextSibling;
  return next;
}

function isOurs(node, name) {  // attributes that this script or the person sets, and Python never changes
  return (name === 'aria-busy' && (node === main || node.localName === 'form')) || (name === 'open' && node.localName === 'details')
    || (name === 'aria-pressed' && node === player?.button);
}

// ---- Controls: ranges send as they move, fields when they are left or Enter is pressed.

let typing = null;  // the field that holds what is not sent yet

const controls = () => all('input, select').filter(control => control !== edited?.input);

function refresh() {  // show what is drawn, except where the person is ahead of it
  for (const control of controls())
    if (control !== typing && ![...flying, ...waiting].some(action => action.field === control.dataset.do)) reset(control);
  light();
}

function reset(control) {
  if (control.type === 'checkbox') control.checked = control.defaultChecked;
  else if (control.localName === 'select') {
    const drawn = (all('[selected]', control)[0] ?? control[0]).value;
    if (control.value !== drawn) control.value = drawn;  // setting it lays the page out, even to what it is
  } else if (control.value !== control.defaultValue) control.value = control.defaultValue;
}

const valueOf = control => control.type === 'checkbox' ? String(Number(control.checked)) : control.value;

function send(control, push, isMove) {
  if (typing === control) typing = null;
  if (control.dataset.pair)
    for (const twin of all(`[data-pair="${CSS.escape(control.dataset.pair)}"]`))
      if (twin !== control) twin.value = control.value;
  if (control.dataset.do) act(control.dataset.do, valueOf(control), push, isMove);
}

function bump(range, by, push) {  // by: a count of steps, or 'min' or 'max'
  if (by in range) range.value = range[by];
  else range.stepUp(Number(by));
  send(range, push);
}

main.addEventListener('input', ({target}) => {
  if (target.type === 'range') {
    pause();  // whoever sets something wants to look at it
    send(target, false, true);
  } else if (!target.matches('select, [type=checkbox]')) typing = target;
});

main.addEventListener('change', ({target}) => {
  if (target.type === 'range' || target.localName === 'textarea' || target === edited?.input) return;
  pause();
  if (target.dataset.file) openFile(target);
  else send(target, true);
});

main.addEventListener('focusout', ({target}) => {  // left without a change: it holds what it held, and nothing waits
  if (target === typing && target.localName === 'input') typing = null;
});

async function openFile({files: [file], dataset: {file: field, most}}) {  // read here, for this page's own server
  if (file) sendText(field, await file.slice(0, 4 * most).text(), most);
}

function sendText(field, text, most) {  // an address carries it, which has its limits
  if (text.length > most) complain(`This has more than ${most} characters, which is more than an address carries.`);
  else act(field, text, true);
}

main.addEventListener('submit', event => {
  event.preventDefault();  // Enter has sent the field already
  if (event.target.dataset.into) fill(event.target);
});

const asks = form => `${form.getAttribute('action')}?${new URLSearchParams(new FormData(form))}&patch=`;

async function fill(form) {  // draw what takes a while in its own place, unless the page asks for something else by then
  if (form.ariaBusy === 'true') return;
  const address = asks(form);
  form.ariaBusy = 'true';
  say(all('.waiting', form)[0].textContent, 0);
  const drawn = await fetch(address).then(answer => answer.text()).then(parsed).catch(() => null);
  form.ariaBusy = null;
  if (drawn === null) complain('The server does not answer. Nothing was measured.');
  else if (form.isConnected && asks(form) === address) {
    const place = byId(form.dataset.into);
    patch(place, drawn.firstChild);
    say(all('.summary, .bad', place)[0].textContent, 0);
  }
  if (!busy) document.dispatchEvent(new Event('settled'));
}

// ---- Play: one step of a range at a time, to its end.

let player = null;  // {button, timer}

function play(button) {
  const range = () => byId(button.dataset.play);
  const next = by => {
    bump(range(), by, false);
    if (range().value === range().max) pause();
  };
  player = {button, timer: setInterval(next, 1200, 1)};
  button.setAttribute('aria-pressed', 'true');
  next(range().value === range().max ? 'min' : 1);
}

function pause() {
  if (!player) return;
  clearInterval(player.timer);
  player.button.setAttribute('aria-pressed', 'false');
  player = null;
}

// ---- Clicks.

document.addEventListener('click', event => {
  const cell = event.target.closest('[role=grid] td');
  const button = event.target.closest('button, a');
  if (cell && cell !== edited?.cell) selectCell(cell, true);
  if (!button || button.getAttribute('aria-disabled') === 'true') return;
  if (button.localName === 'a' && (event.ctrlKey || event.metaKey || event.shiftKey)) return;  // a new tab or window
  const {do: action, from, most, bump: range, by, copy} = button.dataset;
  if (action) {
    const [field, ...value] = action.split(':');
    event.preventDefault();
    pause();
    if (from) sendText(field, byId(from).value, most);
    else act(field, value.join(':'), true);
  } else if (range) {
    pause();
    bump(byId(range), by, true);
  } else if (copy) copyText(byId(copy));
  else if (button.matches('[data-play]')) player ? pause() : play(button);
  else if (button.matches('[data-theme-toggle]')) toggleTheme();
});

async function copyText(element) {
  try {
    await navigator.clipboard.writeText(element.href ?? element.textContent);
    say('Copied.', 0);
  } catch {  // not allowed here: select it, so that one key copies it
    getSelection().selectAllChildren(element);
    say('Selected; copy it with Ctrl+C.', 0);
  }
}

function toggleTheme() {
  const root = document.documentElement;
  const now = root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  root.dataset.theme = now === 'dark' ? 'light' : 'dark';
  try { localStorage.setItem('theme', root.dataset.theme); } catch { /* it lasts as long as this page */ }
}

let speech;

function say(text, wait) {  // one region speaks, the last message alone
  clearTimeout(speech);
  speech = setTimeout(() => { if (byId('live').textContent !== text) byId('live').textContent = text ?? ''; }, wait);
}

// ---- Tensors are grids with one Tab stop; arrows move in them, Enter edits a cell in place.

let edited = null;  // {cell, input, drawn}: the cell that is an input just now, and what Python draws there

const ARROWS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
const cellsOf = row => all(':scope > td', row);

function place(cell) {  // row '*' is a parameter's, which belongs to every row
  const row = cell.closest('[data-row]'), grid = row.closest('[data-t]'), cells = cellsOf(row);
  const [feature, isAlone] = [cells.indexOf(cell), cells.length === 1];
  return {grid, tensor: grid.dataset.t, row: row.dataset.row, feature, isAlone};
}

function cellName(cell) {
  const {tensor, row, feature} = place(cell);
  return row === '*' ? `${tensor}.${feature}` : `${tensor}.${row}.${feature}`;
}

function focusCell(cell) {
  if (!cell.hasAttribute('tabindex')) cell.tabIndex = -1;  // until Python draws the grid's Tab stop there
  cell.focus();
}

function selectCell(cell, push) {
  focusCell(cell);
  act('sel', cellName(cell), push);
}

function cellFrom(cell, key, far) {  // the cell that a key leads to
  const row = cell.closest('[data-row]'), rows = all('[data-row]', row.closest('[role=grid]'));
  const at = cellsOf(row).indexOf(cell), [down, right] = ARROWS[key] ?? [0, 0];
  if (key === 'Home') return cellsOf(far ? rows[0] : row)[0];
  if (key === 'End') return cellsOf(far ? rows.at(-1) : row).at(-1);
  return cellsOf(rows[rows.indexOf(row) + down] ?? row)[at + right];
}

function edit(cell) {
  if (cell === edited?.cell || !('edit' in place(cell).grid.dataset)) return;
  const input = document.createElement('input');
  input.value = cell.dataset.v ?? cell.textContent.trim();
  input.inputMode = 'decimal';
  input.autocomplete = 'off';
  input.setAttribute('aria-label', `New value of ${cellName(cell)}`);
  edited = {cell, input, before: input.value, drawn: cell.cloneNode(true)};
  cell.replaceChildren(input);
  input.select();
  input.addEventListener('blur', () => endEdit(true, false));
}

function endEdit(commits, refocuses) {
  if (!edited) return;
  const {cell, input, before, drawn} = edited;
  edited = null;
  if (refocuses) focusCell(cell);
  patch(cell, drawn);
  if (commits && input.value.trim() !== before && cell.isConnected) act(cellName(cell), input.value.trim(), true);
}

document.addEventListener('keydown', event => {
  const {target, key, ctrlKey} = event, isEnd = key === 'Home' || key === 'End';
  if (event.altKey || event.metaKey || event.isComposing || (ctrlKey && !isEnd)) return;
  const cell = target.closest('[role=grid] td');
  if (target === edited?.input) {
    if (key === 'Enter' || key === 'Escape') endEdit(key === 'Enter', true);
  } else if (key === 'Escape') letGo(target);
  else if (cell && (key === 'Enter' || key === 'F2')) edit(cell);
  else if (cell && (isEnd || key in ARROWS)) {
    event.preventDefault();  // no scrolling
    const next = cellFrom(cell, key, ctrlKey);
    if (next && next !== cell) selectCell(next, false);
  }
});

function letGo(target) {
  if (target === typing) {
    typing = null;
    reset(target);
  } else if (all('[aria-selected=true]').length) act('sel', '', true);
}

main.addEventListener('dblclick', ({target}) => {
  const cell = target.closest('[role=grid] td');
  if (cell) edit(cell);
});

// ---- Light: the row of a cell, its parameters and what it feeds, while the pointer or the focus is on it.

let hovered = null;  // a cell

function light() {
  const focused = document.activeElement?.closest('[role=grid] td');
  const source = hovered?.isConnected ? hovered : focused;
  const lit = source ? litBy(source) : new Map();
  for (const cell of all('[data-lit]')) if (!lit.has(cell)) cell.removeAttribute('data-lit');
  for (const [cell, how] of lit) if (cell.dataset.lit !== how) cell.dataset.lit = how;
}

function litBy(source) {
  const {tensor, row, feature, isAlone} = place(source), isParameter = row === '*', lit = new Map();
  const {row: along = [], cell: each = []} = JSON.parse(main.dataset.feeds ?? '{}')[tensor] ?? {};
  for (const line of all('[data-t] [data-row]')) {
    const name = line.closest('[data-t]').dataset.t, inRow = line.dataset.row === row;
    const isReached = inRow || isParameter || line.dataset.row === '*';  // a sum over rows reads every row
    const takesRow = isReached && along.includes(name), takesCell = isReached && each.includes(name);
    cellsOf(line).forEach((cell, k) => {
      const inFeature = isAlone || k === feature;  // a statistic feeds every feature of its row
      if (takesRow || (takesCell && inFeature)) lit.set(cell, 'feeds');
      else if (inRow && !isParameter) lit.set(cell, 'row');
      else if (line.dataset.row === '*' && !isParameter && k === feature && !isAlone) lit.set(cell, 'param');
    });
  }
  return lit;
}

main.addEventListener('pointerover', ({target}) => {
  const cell = target.closest('[role=grid] td');
  if (cell !== hovered) { hovered = cell; light(); }
});
main.addEventListener('pointerleave', () => { hovered = null; light(); });
main.addEventListener('focusin', light);
main.addEventListener('focusout', ({target}) => {
  if (target.localName === 'td' && target.tabIndex < 0 && document.hasFocus()) target.removeAttribute('tabindex');
});

// ---- History: the address is the state. Browsers refuse more than twenty writes a second, so drags write seldom.

let written = '', unwritten = null;  // the address in the bar, and a newer one that waits
let wrote = 0, pushed = 0, writer;

const address = () => location.pathname + (shown && `?${shown}`) + location.hash;

function record(push) {
  const now = performance.now(), waits = wrote + 250 - now;
  clearTimeout(writer);
  if (address() === written) unwritten = null;
  else if (push && now - pushed > 100) {
    if (unwritten) history.replaceState(null, '', unwritten);
    write('pushState');
    pushed = now;
  } else if (waits > 0) {
    unwritten = address();
    writer = setTimeout(record, waits, false);
  } else write('replaceState');
}

function write(how) {
  written = address();
  unwritten = null;
  wrote = performance.now();
  history[how](null, '', written);
}

addEventListener('popstate', () => {
  clearTimeout(writer);
  pause();
  endEdit(false, false);
  [waiting, typing, unwritten] = [[], null, null];
  written = location.pathname + location.search + location.hash;
  goal = location.search.slice(1);
  run();
});

// ---- Start. What a person did before this script ran is sent now; what the browser restored is taken back.

document.body.dataset.lmSuppressShortcuts = 'true';  // inside JupyterLab, arrow keys belong to the page
record(false);
if (performance.getEntriesByType('navigation')[0]?.type === 'navigate')
  for (const control of controls()) {
    const untouched = parsed(control.outerHTML).firstChild;
    if (valueOf(untouched) !== valueOf(control)) send(control, false);
  }
refresh();
