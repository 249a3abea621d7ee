'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = id => document.getElementById(id);
  const chart = byId('chart'), canvas = byId('canvas'), tip = byId('tip'), pen = canvas.getContext('2d');

  // Columns of data.bars, .losses, .outages and .renewals, as TimelineData has them.
  const LANE = 0, ROW = 1, LOCK = 2, KIND = 3, BEGIN = 4, LENGTH = 5, TOKEN = 6, SITE = 7, AFTER_LOSS = 8;
  const AXIS = 26, HEAD = 24, ROW_HEIGHT = 20, GAP = 6, MOST_ARROWS = 1500, MANY_ARROWS = 250, MOST_LOCKS = 60;
  const NONE = -1;
  const COLOURS = ['#2f6fde', '#b45309', '#15803d', '#8b3fd1', '#0e7490', '#be2f86', '#857100', '#4f56d8', '#4d7c0f',
    '#8a5a44'];
  const holds = data.kinds.map(kind => kind === 'hold' || kind === 'lost');
  const gotNothing = data.kinds.map(kind => !['hold', 'lost', 'acquired'].includes(kind));
  const colour = lock => COLOURS[lock] || `hsl(${(lock * 137.5) % 300 + 25} 45% 40%)`;
  const end = bar => bar[BEGIN] + bar[LENGTH];

  // What is shown: a time from..to, one lock or those whose name has a text.
  const whole = {from: -Math.max(data.length * .01, 50), to: Math.max(data.length * 1.01, data.length + 50)};
  let from = whole.from, to = whole.to, only = NONE, wanted = '', near = null;
  let lines = [], height = 0, labelWidth = 150, width = 0, viewHeight = 0, colours = {};

  // The bars of each row of each lane; they are there row by row, in the order of time.
  const rows = data.lanes.map(lane => Array.from({length: lane[2]}, () => []));
  data.bars.forEach((bar, number) => rows[bar[LANE]][bar[ROW]].push(number));
  const lossesOf = data.lanes.map(() => []);
  data.losses.forEach(loss => lossesOf[loss[0]].push(loss));
  const grantOf = new Map();
  data.grants.forEach(grant => { grantOf.set(grant[1], grant[0]); });

  const isShown = lock => only !== NONE ? lock === only : wanted === '' || shownLocks.has(lock);
  let shownLocks = new Set();

  function span(micros) {
    if (micros < 1000) return `${micros} µs`;
    if (micros < 1e6) return `${+(micros / 1e3).toPrecision(3)} ms`;
    if (micros < 6e7) return `${+(micros / 1e6).toFixed(2)} s`;
    const seconds = Math.round(micros / 1e6);
    return seconds < 3600 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s`
      : `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
  }

  /** The time of day where the page is read, with so many digits of a second. */
  function time(micros, digits) {
    const at = new Date(data.base + Math.floor(micros / 1000));
    const two = number => String(number).padStart(2, '0');
    const inSecond = String(((data.base % 1000) * 1000 + micros) % 1e6 + 1e6).slice(-6).padStart(6, '0');
    return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
      + (digits ? '.' + inSecond.slice(0, digits) : '');
  }

  function day(micros) {
    const at = new Date(data.base + Math.floor(micros / 1000));
    return `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, '0')}-${String(at.getDate()).padStart(2, '0')}`;
  }

  function jvmName(jvm) {
    return [jvm.program, jvm.process, jvm.files].filter(part => part).join(' · ');
  }

  /** Puts the lanes that have something to show below each other. */
  function layOut() {
    lines = [];
    let y = AXIS;
    data.jvms.forEach((jvm, number) => {
      const head = {y, height: HEAD, jvm: number, bottom: 0};
      lines.push(head);
      y += HEAD;
      data.lanes.forEach((lane, of) => {
        if (lane[0] !== number || !(rows[of].some(row => row.some(bar => isShown(data.bars[bar][LOCK])))
            || lossesOf[of].some(loss => isShown(loss[2])))) return;
        lines.push({y, height: lane[2] * ROW_HEIGHT + GAP, lane: of, jvm: number});
        y += lane[2] * ROW_HEIGHT + GAP;
      });
      head.bottom = y;
    });
    height = y + 12;
    byId('spacer').style.height = Math.max(0, height - viewHeight) + 'px';
  }

  const x = micros => labelWidth + (micros - from) / (to - from) * (width - labelWidth);
  const micros = px => from + (px - labelWidth) / (width - labelWidth) * (to - from);
  const rowY = (line, row) => line.y + GAP / 2 + row * ROW_HEIGHT;

  /** As much of a text as there is room for. */
  function fitted(text, room) {
    if (pen.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (pen.measureText(text.slice(0, middle) + '…').width <= room) low = middle; else high = middle - 1;
    }
    return low === 0 ? '' : text.slice(0, low) + '…';
  }

  function axis() {
    const steps = [1, 2, 5];
    let step = 1;
    for (let power = 0; x(from + step) - x(from) < 110; power++) step = steps[power % 3] * 10 ** Math.floor(power / 3);
    for (const round of [6e7, 3e8, 6e8, 1.8e9, 3.6e9, 7.2e9, 2.16e10, 4.32e10, 8.64e10]) {
      if (step > 2e7 && step <= round) { step = round; break; }
    }
    const digits = step >= 1e6 ? 0 : Math.min(6, Math.ceil(6 - Math.log10(step)));
    pen.fillStyle = colours.page;
    pen.fillRect(0, 0, width, AXIS);
    pen.fillStyle = colours.dim;
    pen.textAlign = 'center';
    const offset = (data.base * 1000 - new Date(data.base).getTimezoneOffset() * 6e7) % step;
    const ticks = [];
    for (let at = Math.ceil((from + offset) / step) * step - offset; at < to; at += step) {
      const px = x(at);
      if (px < labelWidth) continue;
      ticks.push(px);
      if (px > labelWidth + 40 && px < width - 40) pen.fillText(time(Math.round(at), digits), px, AXIS / 2);
    }
    pen.textAlign = 'left';
    pen.fillText(day(from), 10, AXIS / 2);
    pen.strokeStyle = colours.line;
    pen.strokeRect(-1, -1, width + 2, AXIS + .5);
    return ticks;
  }

  function label(line, y) {
    const isHead = line.lane === undefined;
    pen.fillStyle = isHead ? colours.head : colours.lane;
    pen.fillRect(0, y, isHead ? width : labelWidth, line.height - 1);
    pen.fillStyle = isHead ? colours.text : colours.dim;
    const text = isHead ? jvmName(data.jvms[line.jvm]) : data.lanes[line.lane][1];
    // The name of a lane stays in view as long as there is some of the lane.
    const top = Math.max(y, Math.min(chart.scrollTop + AXIS, y + line.height - ROW_HEIGHT - GAP));
    pen.fillText(fitted(text, (isHead ? width * .6 : labelWidth) - 20), isHead ? 10 : 18,
      isHead ? y + HEAD / 2 : top + (ROW_HEIGHT + GAP) / 2);
  }

  function drawBar(bar, y) {
    const x1 = Math.max(labelWidth, x(bar[BEGIN])), x2 = Math.min(width, x(end(bar)));
    const isHold = holds[bar[KIND]], wide = Math.max(isHold ? 1.5 : 1, x2 - x1);
    pen.fillStyle = pen.strokeStyle = colour(bar[LOCK]);
    if (isHold) {
      pen.fillRect(x1, y + 2, wide, ROW_HEIGHT - 4);
    } else {
      pen.globalAlpha = .3;
      pen.fillRect(x1, y + 5, wide, ROW_HEIGHT - 10);
      pen.globalAlpha = .85;
      if (wide > 3) pen.strokeRect(x1 + .5, y + 5.5, wide - 1, ROW_HEIGHT - 11);
      pen.globalAlpha = 1;
    }
    const text = isHold && wide > 30 ? fitted(data.locks[bar[LOCK]], wide - 8) : '';
    if (text.length > 6 || text === data.locks[bar[LOCK]]) {
      pen.fillStyle = '#fff';
      pen.fillText(text, x1 + 4, y + ROW_HEIGHT / 2 + .5);
    }
    if (gotNothing[bar[KIND]] && x(end(bar)) >= labelWidth && x(end(bar)) <= width) {
      const at = x(end(bar)), middle = y + ROW_HEIGHT / 2;
      pen.fillStyle = colours.page;
      pen.beginPath();
      pen.moveTo(at, middle - 5); pen.lineTo(at + 5, middle); pen.lineTo(at, middle + 5); pen.lineTo(at - 5, middle);
      pen.closePath();
      pen.fill();
      pen.stroke();
    }
  }

  function cross(at, middle) {
    pen.strokeStyle = colours.page;
    pen.lineWidth = 5;
    for (let pass = 0; pass < 2; pass++) {
      pen.beginPath();
      pen.moveTo(at - 5, middle - 5); pen.lineTo(at + 5, middle + 5);
      pen.moveTo(at + 5, middle - 5); pen.lineTo(at - 5, middle + 5);
      pen.stroke();
      pen.strokeStyle = colours.lost;
      pen.lineWidth = 2.5;
    }
    pen.lineWidth = 1;
  }

  function arrow(x1, y1, x2, y2, isNear, isOneOfMany) {
    pen.strokeStyle = pen.fillStyle = colours.grant;
    pen.globalAlpha = isNear ? 1 : isOneOfMany ? .25 : .55;
    pen.lineWidth = isNear ? 2.2 : 1;
    // It comes in from the left, so that its head points at the beginning of the hold.
    const down = y2 >= y1 ? 1 : -1, bend = Math.min(12, Math.abs(y2 - y1) / 2);
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.bezierCurveTo(x1 + 4, y1 + down * bend, x2 - 14, y2 - down * bend, x2 - 6, y2);
    pen.stroke();
    if (isNear || !isOneOfMany) {
      pen.beginPath();
      pen.moveTo(x2, y2); pen.lineTo(x2 - 7, y2 - 4); pen.lineTo(x2 - 7, y2 + 4);
      pen.fill();
    }
    pen.globalAlpha = 1;
    pen.lineWidth = 1;
  }

  /** The first bar of a row that may reach into the view. */
  function firstOf(row) {
    let low = 0, high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (end(data.bars[row[middle]]) < from) low = middle + 1; else high = middle;
    }
    return Math.max(0, low - 1);
  }

  function draw() {
    const scroll = chart.scrollTop, ratio = window.devicePixelRatio || 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
    pen.textBaseline = 'middle';
    pen.fillStyle = colours.page;
    pen.fillRect(0, 0, width, viewHeight);
    const ticks = axis();
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, width, viewHeight - AXIS);
    pen.clip();
    pen.translate(0, -scroll);
    const visible = lines.filter(line => line.y + line.height > scroll && line.y < scroll + viewHeight);
    pen.fillStyle = colours.line;
    ticks.forEach(px => pen.fillRect(Math.round(px), scroll, 1, viewHeight));
    visible.forEach(line => label(line, line.y));
    pen.save();
    pen.beginPath();
    pen.rect(labelWidth, scroll, width, viewHeight);
    pen.clip();
    drawOutages();
    const places = new Map();
    lines.forEach(line => { if (line.lane !== undefined) places.set(line.lane, line); });
    let drawn = 0;
    for (const line of visible) {
      if (line.lane === undefined) { drawRenewals(line); continue; }
      rows[line.lane].forEach((row, number) => {
        let filled = NONE;
        for (let i = firstOf(row); i < row.length; i++) {
          const bar = data.bars[row[i]];
          if (bar[BEGIN] > to) break;
          if (end(bar) < from || !isShown(bar[LOCK])) continue;
          drawn++;
          // Of very many in one pixel, one is drawn.
          const right = x(end(bar));
          if (right < filled + .7 && !gotNothing[bar[KIND]]) continue;
          drawBar(bar, rowY(line, number));
          filled = right;
        }
      });
    }
    const arrows = drawGrants(places, scroll);
    for (const line of visible) {
      if (line.lane === undefined) continue;
      lossesOf[line.lane].forEach(loss => {
        if (isShown(loss[2])) cross(x(loss[3]), rowY(line, loss[1]) + ROW_HEIGHT / 2);
      });
    }
    pen.restore();
    pen.restore();
    document.body.dataset.rendered = `${drawn} bars, ${arrows} hand-offs`;
  }

  function drawOutages() {
    for (const [jvm, begin, length] of data.outages) {
      const head = lines.find(line => line.lane === undefined && line.jvm === jvm);
      const x1 = x(begin), wide = Math.max(2, x(begin + length) - x1);
      pen.fillStyle = colours.outage;
      pen.fillRect(x1, head.y, wide, head.bottom - head.y);
      pen.strokeStyle = colours.lost;
      pen.setLineDash([3, 3]);
      pen.strokeRect(x1, head.y + .5, wide, head.bottom - head.y - 1);
      pen.setLineDash([]);
    }
  }

  function drawRenewals(line) {
    pen.fillStyle = colours.tick;
    let last = NONE;
    for (const [jvm, at] of data.renewals) {
      const px = x(at);
      if (jvm === line.jvm && at >= from && at <= to && Math.abs(px - last) > 1) {
        pen.fillRect(px - 1, line.y + 6, 2, HEAD - 12);
        last = px;
      }
    }
  }

  /** Returns how many are in the view; none is drawn if they would be a thicket. */
  function drawGrants(places, scroll) {
    const seen = [];
    for (const grant of data.grants) {
      const one = data.bars[grant[0]], other = data.bars[grant[1]];
      if (!isShown(one[LOCK])) continue;
      const at = end(one), then = holds[other[KIND]] ? other[BEGIN] : end(other);
      const above = places.get(one[LANE]), below = places.get(other[LANE]);
      if (Math.max(at, then) < from || Math.min(at, then) > to || !above || !below) continue;
      const y1 = rowY(above, one[ROW]) + ROW_HEIGHT / 2, y2 = rowY(below, other[ROW]) + ROW_HEIGHT / 2;
      if (Math.max(y1, y2) < scroll || Math.min(y1, y2) > scroll + viewHeight) continue;
      seen.push([x(at), y1, x(then), y2, near !== null && grant.includes(near)]);
    }
    const thicket = seen.length > MOST_ARROWS;
    if (!thicket) seen.forEach(one => arrow(...one, seen.length > MANY_ARROWS));
    byId('notes').textContent = data.leftOut
      .concat(thicket ? [`${seen.length} hand-offs are here: zoom in, or search a lock, to see them`] : []).join('. ');
    return seen.length;
  }

  /** What is drawn at a point: a title and pairs of texts; null if nothing. */
  function at(px, py) {
    near = null;
    const y = py + chart.scrollTop, when = micros(px), slack = micros(px + 4) - when;
    const line = py < AXIS ? undefined : lines.find(each => y >= each.y && y < each.y + each.height);
    if (!line) return null;
    if (px < labelWidth) return line.lane === undefined ? null : {title: data.lanes[line.lane][1], facts: []};
    if (line.lane !== undefined) {
      const row = Math.floor((y - line.y - GAP / 2) / ROW_HEIGHT);
      const loss = lossesOf[line.lane].find(
        each => isShown(each[2]) && each[1] === row && Math.abs(each[3] - when) <= slack * 1.5);
      if (loss) return aboutLoss(loss);
      let best = NONE, distance = slack;
      for (const number of rows[line.lane][row] || []) {
        const bar = data.bars[number];
        const off = Math.max(bar[BEGIN] - when, when - end(bar), 0);
        if (isShown(bar[LOCK]) && (off < distance || off === 0 && best !== NONE && bar[LENGTH] <= data.bars[best][LENGTH])) {
          best = number;
          distance = off;
        }
      }
      if (best !== NONE) { near = best; return aboutBar(data.bars[best], best); }
    }
    const tick = line.lane === undefined
      && data.renewals.find(each => each[0] === line.jvm && Math.abs(each[1] - when) <= slack);
    if (tick) return {title: `Redis confirmed ${tick[2]} ${tick[2] === 1 ? 'renewal' : 'renewals'}`, facts: [['at', time(tick[1], 3)]]};
    const outage = data.outages.find(each => each[0] === line.jvm && when >= each[1] - slack && when <= each[1] + each[2] + slack);
    return outage ? {title: outageName(outage), facts: [['failure', outage[4] || '-'], ['from', time(outage[1], 3)],
      ['for', span(outage[2]) + (outage[5] ? '' : ', and not over when the recording ended')]]} : null;
  }

  /** A fault that tests made is no failure of a request. */
  function outageName(outage) {
    return outage[4] ? `Redis away: ${outage[3]}` : outage[3];
  }

  function aboutBar(bar, number) {
    const lane = data.lanes[bar[LANE]], kind = data.kinds[bar[KIND]];
    const titles = {hold: 'Hold', lost: 'Hold that was lost', acquired: 'Wait'};
    const facts = [['for', span(bar[LENGTH])], ['from', time(bar[BEGIN], 6)], ['to', time(end(bar), 6)], ['lane', lane[1]],
      ['JVM', jvmName(data.jvms[lane[0]])]];
    if (gotNothing[bar[KIND]]) facts.unshift(['ended', kind + ', without the lock']);
    if (bar[TOKEN] !== '0') facts.push(['token', bar[TOKEN]]);
    if (bar[AFTER_LOSS]) facts.push(['note', 'the holder before did not unlock']);
    if (grantOf.has(number)) {
      const giver = data.bars[grantOf.get(number)], other = data.lanes[giver[LANE]];
      facts.push(['given by', `${other[1]}${other[0] === lane[0] ? '' : ' of ' + jvmName(data.jvms[other[0]])}`]);
    }
    if (data.sites[bar[SITE]]) facts.push(['called at', data.sites[bar[SITE]]]);
    return {title: `${titles[kind] || 'Wait'}: ${data.locks[bar[LOCK]]}`, facts};
  }

  function aboutLoss(loss) {
    return {title: `Loss: ${data.locks[loss[2]]}`, facts: [['reason', loss[6]], ['told', time(loss[3], 6)], ['owner', loss[5]],
      ['JVM', jvmName(data.jvms[data.lanes[loss[0]][0]])], ['token', loss[4]]]};
  }

  function showTip(event) {
    const box = canvas.getBoundingClientRect(), before = near;
    const found = at(event.clientX - box.left, event.clientY - box.top);
    if (near !== before) later();
    if (!found) { tip.style.display = 'none'; return; }
    const title = document.createElement('b'), list = document.createElement('dl');
    title.textContent = found.title;
    for (const [name, value] of found.facts) {
      list.append(Object.assign(document.createElement('dt'), {textContent: name}),
        Object.assign(document.createElement('dd'), {textContent: value}));
    }
    tip.replaceChildren(title, list);
    tip.style.display = 'block';
    const right = event.clientX + 14 + tip.offsetWidth > innerWidth, low = event.clientY + 14 + tip.offsetHeight > innerHeight;
    tip.style.left = Math.max(4, right ? event.clientX - 14 - tip.offsetWidth : event.clientX + 14) + 'px';
    tip.style.top = Math.max(4, low ? event.clientY - 14 - tip.offsetHeight : event.clientY + 14) + 'px';
  }

  let isDue = false;
  function later() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => { isDue = false; draw(); });
  }

  function show(newFrom, newTo) {
    const length = Math.min(Math.max(newTo - newFrom, 20), whole.to - whole.from);
    from = Math.min(Math.max(newFrom, whole.from), whole.to - length);
    to = from + length;
    later();
  }

  function zoom(factor, around) {
    show(around - (around - from) * factor, around + (to - around) * factor);
  }

  const middle = () => (from + to) / 2;
  const move = part => show(from + (to - from) * part, to + (to - from) * part);

  function measure() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ['page', 'text', 'dim', 'line', 'lane', 'head', 'lost', 'outage', 'grant', 'tick']) {
      colours[name] = style.getPropertyValue('--' + name).trim();
    }
    const ratio = window.devicePixelRatio || 1;
    width = chart.clientWidth;
    viewHeight = chart.clientHeight;
    canvas.style.height = viewHeight + 'px';
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(viewHeight * ratio);
    pen.font = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
    const widest = data.lanes.slice(0, 500).reduce((most, lane) => Math.max(most, pen.measureText(lane[1]).width), 60);
    labelWidth = Math.round(Math.min(widest + 38, Math.max(110, width * .25)));
    layOut();
    draw();
  }

  function filter(text, lock) {
    only = lock;
    wanted = text.toLowerCase();
    shownLocks = new Set(data.locks.flatMap((name, number) => name.toLowerCase().includes(wanted) ? [number] : []));
    document.querySelectorAll('#locks button').forEach(
      (button, number) => button.setAttribute('aria-pressed', String(number === only)));
    layOut();
    later();
  }

  function button(parent, text, pressed) {
    const made = document.createElement('button');
    made.append(Object.assign(document.createElement('span'), {textContent: text}));
    made.title = text;
    made.addEventListener('click', pressed);
    byId(parent).append(made);
    return made;
  }

  /** Shows a time and a lane, with some of what is around it. */
  function goTo(micro, laneNumber) {
    const half = Math.min((to - from) / 2, Math.max(data.length / 20, 1e5));
    const line = lines.find(each => each.lane === laneNumber);
    if (line) chart.scrollTop = line.y - viewHeight / 2;
    show(micro - half, micro + half);
  }

  data.locks.slice(0, MOST_LOCKS).forEach((name, number) => {
    const swatch = document.createElement('i');
    swatch.style.background = colour(number);
    button('locks', name, () => { byId('search').value = ''; filter('', only === number ? NONE : number); }).prepend(swatch);
  });
  if (data.locks.length > MOST_LOCKS) byId('locks').append(`and ${data.locks.length - MOST_LOCKS} more: search them`);
  data.losses.slice(0, 50).forEach(loss =>
    button('marks', `× ${time(loss[3], 3)} ${data.locks[loss[2]]}: ${loss[6]}`, () => goTo(loss[3], loss[0])));
  const told = new Set();
  const isTold = text => told.size === told.add(text).size;
  data.outages.slice(0, 50).filter(outage => !isTold(outage.slice(1, 4).join())).forEach(outage =>
    button('marks', `${time(outage[1], 3)} ${outageName(outage)} for ${span(outage[2])}`, () => goTo(outage[1] + outage[2] / 2, NONE)));
  const count = (number, one, many = one + 's') => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
  byId('summary').textContent = [day(0) + ' ' + time(0, 0) + ' for ' + span(data.length), count(data.jvms.length, 'JVM'),
    count(data.locks.length, 'lock'), count(data.bars.length, 'wait or hold', 'waits and holds'),
    count(data.grants.length, 'hand-off'), count(data.losses.length, 'loss', 'losses')].join(' · ');
  canvas.setAttribute('aria-label', byId('summary').textContent);

  byId('in').addEventListener('click', () => zoom(.5, middle()));
  byId('out').addEventListener('click', () => zoom(2, middle()));
  byId('all').addEventListener('click', () => show(whole.from, whole.to));
  byId('search').addEventListener('input', event => filter(event.target.value, NONE));
  chart.addEventListener('scroll', later);
  chart.addEventListener('keydown', event => {
    const keys = {'+': () => zoom(.5, middle()), '=': () => zoom(.5, middle()), '-': () => zoom(2, middle()),
      '0': () => show(whole.from, whole.to), ArrowLeft: () => move(-.15), ArrowRight: () => move(.15)};
    if (keys[event.key] && !event.ctrlKey && !event.metaKey) { keys[event.key](); event.preventDefault(); }
  });
  chart.addEventListener('wheel', event => {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const scrolls = !event.ctrlKey && !event.metaKey && height > viewHeight;
    if (!sideways && scrolls) return;
    event.preventDefault();
    if (sideways) move((event.deltaX || event.deltaY) / 1500);
    else zoom(Math.exp(event.deltaY * .002), micros(Math.max(labelWidth, event.clientX - canvas.getBoundingClientRect().left)));
  }, {passive: false});
  let drag = null;
  canvas.addEventListener('pointerdown', event => {
    drag = {x: event.clientX, y: event.clientY, from, to, top: chart.scrollTop};
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add('dragged');
  });
  canvas.addEventListener('pointermove', event => {
    if (!drag) { showTip(event); return; }
    tip.style.display = 'none';
    const by = (drag.x - event.clientX) / (width - labelWidth) * (drag.to - drag.from);
    show(drag.from + by, drag.to + by);
    chart.scrollTop = drag.top + drag.y - event.clientY;
  });
  for (const name of ['pointerup', 'pointercancel']) {
    canvas.addEventListener(name, () => { drag = null; canvas.classList.remove('dragged'); });
  }
  canvas.addEventListener('pointerleave', () => { tip.style.display = 'none'; });
  window.addEventListener('resize', measure);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', measure);

  // A page can be linked to with what it shows: #lock=order
  const fragment = new URLSearchParams(location.hash.slice(1));
  byId('search').value = fragment.get('lock') || '';
  filter(byId('search').value, NONE);
  measure();
})();
