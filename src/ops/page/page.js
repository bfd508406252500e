// Draws what /status answers, every two seconds. Texts go in as text, never as HTML.
'use strict';

const ASK_EVERY_MS = 2000;
const PATIENCE_MS = 5000;
const SPAN_SECONDS = 600;
// Samples further apart than this have a gap between them.
const GAP_SECONDS = 13;
// A list that is longer is cut, and says so.
const WRONGS_MAX = 12;
const NONE = '–';
const SVG = 'http://www.w3.org/2000/svg';
const SIGNS = { running: '●', verifying: '◐', restoring: '◔', beginning: '○', refused: '✕' };

const routes = new Map();
let heardAt = null;
let failedSince = null;
let why = '';

const byId = (id) => document.getElementById(id);

function make(tag, name, ...children) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...children);
  return element;
}

/** Sets a text only where it changed: so that a selection stays, and nothing is read out twice. */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 });

function number(value) {
  if (value === null || value === undefined) return NONE;
  return Math.abs(value) < 100 ? tenths.format(value) : whole.format(value);
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 10) return `${tenths.format(seconds)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} days`;
}

function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${tenths.format(value)} ${units[at]}`;
}

/** `2026-02-03T04:05:06.7Z` without what nobody needs at a glance. */
function moment(text) {
  return text ? text.replace('T', ' ').replace(/(\.\d+)?Z$/, '') : NONE;
}

const count = (n, one, more) => `${number(n)} ${n === 1 ? one : more}`;

/** The sum of what is known; null where nothing is. */
function sum(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  return known.length ? known.reduce((a, b) => a + b, 0) : null;
}

function most(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  return known.length ? Math.max(...known) : null;
}

// --- what is wrong ---

/** Each thing that is in the way: what, where, and what to do. */
function wrongsOf(status) {
  const told = new Set();
  const wrongs = [];
  for (const route of status.routes) {
    for (const partition of route.partitions) {
      const begins = `${route.name} partition ${partition.partition}: `;
      const same = status.waits_for.filter((text) => text.startsWith(begins));
      if (!same.length && !partition.refusal) continue;
      same.forEach((text) => told.add(text));
      wrongs.push(wrongPartition(route.name, partition));
    }
  }
  const others = status.waits_for.filter((text) => !told.has(text));
  const order = (wrong) => (wrong.bad ? 0 : 1);
  return others.map((text) => ({ what: text, bad: false })).concat(wrongs)
    .sort((a, b) => order(a) - order(b));
}

function wrongPartition(route, partition) {
  const where = `${route}, partition ${partition.partition}`;
  if (partition.refusal) {
    const { cause, message } = partition.refusal;
    return { bad: true, what: `${where} is refused: ${cause}`, message };
  }
  const wrong = { bad: false, what: `${where} is ${partition.state}`, message: partition.waits_for };
  const restore = partition.restore;
  if (restore && restore.end > 0) {
    wrong.share = Math.min(1, Math.max(0, restore.next / restore.end));
    wrong.cause = `journal offset ${number(restore.next)} of ${number(restore.end)}`;
  }
  return wrong;
}

/** A message with what stands in backticks as something to copy. */
function withCommands(text) {
  return text.split('`').map((part, at) => (at % 2 ? make('code', '', part) : part));
}

function drawWrongs(wrongs) {
  byId('wrongs').hidden = wrongs.length === 0;
  const bad = wrongs.some((wrong) => wrong.bad);
  say(byId('wrongs-title'), bad ? 'What is wrong' : 'What it waits for');
  const shown = wrongs.slice(0, WRONGS_MAX);
  const key = JSON.stringify([shown, wrongs.length]);
  const list = byId('wrong-list');
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  const items = shown.map((wrong) => {
    const item = make('li', wrong.bad ? 'bad' : '', make('strong', '', wrong.what));
    if (wrong.message) item.append(make('p', '', ...withCommands(wrong.message)));
    if (wrong.cause) item.append(make('p', 'cause', wrong.cause));
    if (wrong.share !== undefined) {
      const bar = make('progress');
      bar.value = wrong.share;
      bar.setAttribute('aria-label', `${wrong.what}, restored`);
      item.append(bar);
    }
    return item;
  });
  if (wrongs.length > shown.length) {
    items.push(make('li', '', `and ${wrongs.length - shown.length} more`));
  }
  list.replaceChildren(...items);
}

// --- the big word ---

function drawVerdict(state, sign, word, sentence) {
  byId('verdict').dataset.state = state;
  say(byId('sign'), sign);
  say(byId('word'), word);
  say(byId('sentence'), sentence);
  document.title = `${word} · oncegate`;
  drawIcon(state);
}

function drawIcon(state) {
  const colour = { ready: '%23178a4c', waits: '%23d08a00' }[state] || '%23c0271f';
  const shape = state === 'ready' ? '<circle cx="8" cy="8" r="7"' : '<rect x="1" y="1" width="14" height="14"';
  const href = `data:image/svg+xml,<svg xmlns="${SVG}" viewBox="0 0 16 16">${shape} fill="${colour}"/></svg>`;
  const icon = byId('icon');
  if (icon.getAttribute('href') !== href) icon.setAttribute('href', href);
}

function verdictOf(status, wrongs) {
  const partitions = status.routes.flatMap((route) => route.partitions);
  const refused = partitions.filter((partition) => partition.refusal).length;
  const of = `${count(status.routes.length, 'route', 'routes')}`;
  if (status.ready && !partitions.length) {
    return ['ready', '✓', 'ready', 'No partition is assigned to this process; it stands by.'];
  }
  if (status.ready) {
    return ['ready', '✓', 'ready', `All ${count(partitions.length, 'assigned partition', 'assigned partitions')} of ${of} run.`];
  }
  const running = partitions.filter((partition) => partition.state === 'running').length;
  const rest = partitions.length ? ` ${running} of ${partitions.length} assigned partitions run.` : '';
  if (refused) {
    return ['refused', '✕', 'refused', `${count(refused, 'partition is', 'partitions are')} refused: a person is needed.${rest}`];
  }
  const waits = wrongs.length === 1 ? 'For one thing, named below.' : `For ${wrongs.length} things, named below.`;
  return ['waits', '◔', 'waits', `${waits}${rest}`];
}

// --- a route ---

function routeView(name) {
  const view = { root: make('section', 'route'), head: make('span'), topics: make('small') };
  const title = make('h2', '', view.head, view.topics);
  title.id = `route-${routes.size}`;
  view.root.setAttribute('aria-labelledby', title.id);
  view.rate = chartView('Records per second');
  view.lag = chartView('Records that wait');
  view.verdicts = make('div', 'card verdicts');
  view.table = make('div', 'card scroll');
  // What may scroll by itself can be reached by keys.
  view.table.tabIndex = 0;
  view.table.setAttribute('role', 'region');
  view.table.setAttribute('aria-label', `Partitions of ${name}`);
  view.charts = make('div', 'charts', view.rate.root, view.lag.root);
  view.root.append(title, view.charts, view.verdicts, view.table);
  say(view.head, name);
  return view;
}

function drawRoutes(status) {
  const names = status.routes.map((route) => route.name);
  for (const [name, view] of routes) {
    if (!names.includes(name)) {
      view.root.remove();
      routes.delete(name);
    }
  }
  for (const route of status.routes) {
    if (!routes.has(route.name)) {
      const view = routeView(route.name);
      routes.set(route.name, view);
      byId('routes').append(view.root);
    }
    drawRoute(routes.get(route.name), route);
  }
}

function drawRoute(view, route) {
  const { partitions, history } = route;
  say(view.topics, `${route.raw} → ${route.clean}, ${count(route.workers.length, 'worker', 'workers')}`);
  const rates = history.map((sample) => [sample.at, sample.records_per_second]);
  const lags = history.map((sample) => [sample.at, sample.lag_records]);
  const last = history.length ? history[history.length - 1] : null;
  drawChart(view.rate, rates, last ? last.records_per_second : null, 'a second');
  const lag = sum(partitions.map((partition) => partition.lag_records));
  const age = most(partitions.map((partition) => partition.lag_seconds));
  const unit = age === null ? 'records' : `records, the oldest for ${duration(age)}`;
  drawChart(view.lag, lags, lag, age === 0 ? 'records' : unit);
  // A process that stands by has nothing to draw.
  view.charts.hidden = !partitions.length && !most(rates.map((rate) => rate[1]));
  drawVerdicts(view.verdicts, partitions);
  drawTable(view.table, route);
}

function chartView(title) {
  const view = { title, now: make('p', 'now'), top: make('span', 'top') };
  view.value = make('span');
  view.unit = make('small');
  view.now.append(view.value, ' ', view.unit);
  view.svg = document.createElementNS(SVG, 'svg');
  view.svg.setAttribute('viewBox', '0 0 600 100');
  view.svg.setAttribute('preserveAspectRatio', 'none');
  view.svg.setAttribute('role', 'img');
  const axis = make('div', 'axis', make('span', '', '10 min ago'), make('span', '', 'now'));
  axis.setAttribute('aria-hidden', 'true');
  const head = make('div', 'head', make('h3', '', title), view.top);
  view.root = make('figure', 'card', head, view.now, make('div', 'chart', view.svg), axis);
  return view;
}

/** Pieces without gaps, as points on a field of 600 by 100. */
function pieces(points, until, top) {
  const found = [];
  let before = null;
  for (const [at, value] of points) {
    if (value === null || at < until - SPAN_SECONDS) {
      before = null;
      continue;
    }
    if (before === null || at - before > GAP_SECONDS) found.push([]);
    const x = SPAN_SECONDS - (until - at);
    found[found.length - 1].push([x, 96 - (88 * value) / top]);
    before = at;
  }
  return found;
}

function drawChart(view, points, now, unit) {
  say(view.value, number(now));
  say(view.unit, unit);
  const highest = most(points.map((point) => point[1]));
  say(view.top, highest ? `highest ${number(highest)}` : '');
  view.svg.setAttribute('aria-label',
    `${view.title} over the last 10 minutes: now ${number(now)}, highest ${number(highest)}`);
  const until = points.length ? points[points.length - 1][0] : 0;
  const drawn = [];
  for (const piece of pieces(points, until, highest || 1)) {
    const text = piece.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join(' L ');
    const from = piece[0][0];
    const to = piece[piece.length - 1][0];
    drawn.push(path('area', `M ${from} 100 L ${text} L ${to} 100 Z`), path('curve', `M ${text}`));
  }
  view.svg.replaceChildren(...drawn);
}

function path(name, d) {
  const element = document.createElementNS(SVG, 'path');
  element.setAttribute('class', name);
  element.setAttribute('d', d);
  return element;
}

// --- verdicts ---

function drawVerdicts(root, partitions) {
  const totals = partitions.map((partition) => partition.totals).filter((of) => of);
  const key = JSON.stringify([totals, partitions.length]);
  if (root.dataset.key === key) return;
  root.dataset.key = key;
  root.hidden = partitions.length === 0;
  const of = (name) => totals.reduce((all, total) => all + total[name], 0);
  const reasons = {};
  for (const total of totals) {
    for (const [reason, n] of Object.entries(total.quarantined)) reasons[reason] = (reasons[reason] || 0) + n;
  }
  const held = Object.entries(reasons).sort((a, b) => b[1] - a[1]);
  const groups = [
    ['through', 'let through', [['first', of('first')], ['correction', of('correction')], ['admitted', of('admitted')]]],
    ['absorbed', 'absorbed', [['duplicate', of('duplicate')], ['replayed', of('replayed')], ['conflict', of('conflict')]]],
    ['held', 'quarantined', held],
  ];
  const bar = make('div', 'bar');
  bar.setAttribute('aria-hidden', 'true');
  const lists = groups.map(([name, title, parts]) => {
    const all = parts.reduce((most, part) => most + part[1], 0);
    const piece = make('span', name);
    piece.style.flexGrow = String(all);
    if (all) bar.append(piece);
    const shown = parts.filter((part) => part[1] > 0);
    const list = make('dl', '', ...shown.map(([part, n]) =>
      make('div', '', make('dt', '', part), make('dd', '', number(n)))));
    const sign = make('i');
    sign.setAttribute('aria-hidden', 'true');
    return make('div', name, make('h3', '', make('span', '', sign, title), make('span', '', number(all))), list);
  });
  const known = totals.length === partitions.length ? 'since the beginning of the journal'
    : `since the beginning of the journal, ${totals.length} of ${partitions.length} partitions known`;
  const head = make('h3', '', `${count(of('records'), 'record', 'records')} decided, their events by verdict, ${known}`);
  root.replaceChildren(head, bar, make('div', 'groups', ...lists));
}

// --- partitions ---

const COLUMNS = [
  ['committed', (p) => number(p.committed_offset)],
  ['log end', (p) => number(p.raw_end_offset)],
  ['waiting', (p) => number(p.lag_records)],
  ['oldest', (p) => (p.lag_seconds === 0 ? NONE : duration(p.lag_seconds))],
  ['clock (UTC)', (p) => moment(p.clock)],
  ['horizon (UTC)', (p) => moment(p.horizon)],
  ['keys', (p) => (p.store ? number(p.store.keys) : NONE)],
  ['store', (p) => (p.store ? bytes(p.store.bytes) : NONE)],
];

function drawTable(root, route) {
  if (!route.partitions.length) {
    root.dataset.rows = '';
    if (!root.querySelector('.none')) {
      root.replaceChildren(make('p', 'none', 'No partition of this route is assigned to this process.'));
    }
    return;
  }
  const rows = route.partitions.map((partition) => partition.partition).join(' ');
  if (root.dataset.rows !== rows) {
    root.dataset.rows = rows;
    root.replaceChildren(emptyTable(route));
  }
  const body = root.querySelector('tbody');
  route.partitions.forEach((partition, at) => drawRow(body.rows[at], partition));
}

function emptyTable(route) {
  const head = make('tr');
  for (const title of ['partition', 'state', ...COLUMNS.map((column) => column[0])]) {
    const cell = make('th', '', title);
    cell.scope = 'col';
    head.append(cell);
  }
  const rows = route.partitions.map((partition) => {
    const name = make('th', '', String(partition.partition));
    name.scope = 'row';
    const state = make('td', 'state-cell', make('span', 'state'));
    const cells = COLUMNS.map(([title]) => {
      const cell = make('td');
      cell.dataset.label = title;
      return cell;
    });
    return make('tr', '', name, state, ...cells);
  });
  const caption = make('caption', '', `Partitions of ${route.raw} that this process serves`);
  return make('table', '', caption, make('thead', '', head), make('tbody', '', ...rows));
}

function drawRow(row, partition) {
  const state = row.cells[1].firstChild;
  state.className = `state ${SIGNS[partition.state] ? partition.state : ''}`;
  const restore = partition.restore;
  const share = restore && restore.end > 0 ? ` ${Math.floor((100 * restore.next) / restore.end)} %` : '';
  say(state, `${SIGNS[partition.state] || '?'} ${partition.state}${share}`);
  COLUMNS.forEach(([, text], at) => {
    const cell = row.cells[at + 2];
    say(cell, text(partition));
    cell.className = cell.textContent === NONE ? 'nothing' : '';
  });
}

// --- asking ---

function draw(status) {
  say(byId('about'), `${status.instance} · group ${status.group} · version ${status.version} · up ${duration(status.uptime_seconds)}`);
  const wrongs = wrongsOf(status);
  drawVerdict(...verdictOf(status, wrongs));
  drawWrongs(wrongs);
  drawRoutes(status);
}

function drawHeard() {
  const silent = failedSince !== null;
  document.body.classList.toggle('stale', silent && heardAt !== null);
  if (!silent) {
    if (heardAt) say(byId('heard'), `live, as of ${heardAt.toLocaleTimeString('en-GB')}`);
    return;
  }
  const since = heardAt ? ` What stands below it said at ${heardAt.toLocaleTimeString('en-GB')}.` : '';
  drawVerdict('silent', '✕', 'no answer', `This process cannot be reached (${why}).${since}`);
  say(byId('heard'), `without an answer for ${duration(Math.round((Date.now() - failedSince) / 1000))}; asking again`);
}

/** The answer of the process, or an error whose message says what is in the way. */
async function fetchStatus() {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE_MS);
  try {
    const answer = await fetch('status', { cache: 'no-store', signal: patience.signal });
    if (!answer.ok) throw new Error(`HTTP status ${answer.status}`);
    return await answer.json();
  } catch (error) {
    if (error.name === 'AbortError') throw new Error(`nothing within ${PATIENCE_MS / 1000} s`);
    if (error instanceof TypeError) throw new Error('no connection');
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function ask() {
  try {
    const status = await fetchStatus();
    draw(status);
    heardAt = new Date();
    failedSince = null;
  } catch (error) {
    failedSince ??= Date.now();
    why = error.message;
  }
  drawHeard();
}

/** Waits, or until the page comes back to sight. */
function pause() {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', end);
      done();
    };
    const timer = setTimeout(end, ASK_EVERY_MS);
    document.addEventListener('visibilitychange', end);
  });
}

async function go() {
  for (;;) {
    // Where nobody looks, nobody is asked.
    if (!document.hidden) await ask();
    await pause();
  }
}

go();
