"""The page of `stepper`: its layout, and the few lines of script that turn it."""

from __future__ import annotations

from typing import Final

PAGE: Final = r"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>@title@</title>
<style>
body { margin: 0; font: 14px system-ui, sans-serif; color: #1f2328; background: #fff }
header { display: flex; gap: 12px; align-items: center; padding: 10px 16px;
  border-bottom: 1px solid #d0d7de; flex-wrap: wrap }
h1 { font-size: 15px; margin: 0; font-family: ui-monospace, Menlo, Consolas, monospace }
h2 { font-size: 12px; margin: 16px 0 6px; color: #57606a; font-weight: 600 }
h2:first-child { margin-top: 0 }
button { font: inherit; padding: 2px 12px }
input { flex: 1; min-width: 120px }
main { display: grid; grid-template-columns: minmax(0, 5fr) minmax(130px, 2fr) minmax(0, 6fr);
  height: calc(100vh - 52px) }
section { overflow: auto; padding: 12px 16px; border-right: 1px solid #d0d7de }
.code, .value, .event, .layer { font: 12px/1.6 ui-monospace, Menlo, Consolas, monospace }
.code { white-space: pre }
.code.now { background: #fff1c2; box-shadow: inset 3px 0 #bf8700 }
.layer { border: 1px solid #d0d7de; border-radius: 5px; padding: 5px 10px; margin-bottom: 6px }
.layer.passed { color: #8c959f }
.layer.taken { background: #ddf4ff; border-color: #54aeff; font-weight: 600 }
.layer small { display: block; font-weight: 400; color: #57606a }
.event { cursor: pointer; padding: 0 4px; overflow-wrap: anywhere; text-indent: -1.5em }
.event.now { background: #ddf4ff }
.event.later { color: #8c959f }
.by { color: #8250df }
.value { overflow-wrap: anywhere; padding-left: 1.5em; text-indent: -1.5em }
.value b { color: #0550ae }
.value.new { background: #dafbe1 }
#line { color: #57606a }
</style>
</head>
<body>
<header>
<h1 id="title"></h1>
<button id="back" type="button">back</button>
<button id="next" type="button">next</button>
<input id="slider" type="range" min="0" value="0" aria-label="step">
<span id="count"></span>
<span id="line"></span>
</header>
<main>
<section><h2>program</h2><div id="program"></div></section>
<section><h2>handlers, innermost first</h2><div id="stack"></div></section>
<section>
<h2>performed</h2><div id="events"></div>
<h2>operands and results</h2><div id="now"></div>
<h2>values so far</h2><div id="values"></div>
</section>
</main>
<script type="application/json" id="data">@data@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const steps = data.steps;
let at = 0;

function put(parent, kind, text) {
  const made = document.createElement("div");
  made.className = kind;
  made.textContent = text;
  parent.appendChild(made);
  return made;
}

function empty(id) {
  const found = document.getElementById(id);
  found.replaceChildren();
  return found;
}

function pair(parent, name, text, kind) {
  const made = put(parent, kind, "");
  const bold = document.createElement("b");
  bold.textContent = name;
  made.appendChild(bold);
  made.appendChild(document.createTextNode("  " + text));
}

function placeOf(step) {
  for (let i = steps.indexOf(step); i >= 0; i--) if (steps[i].place) return steps[i].place;
  return [0, -1];
}

function showProgram(step) {
  const parent = empty("program");
  const [number, equation] = step ? placeOf(step) : [0, -1];
  if (!data.programs.length) return;
  for (const [text, own] of data.programs[number].lines) {
    const here = step && step.place && own === equation;
    const made = put(parent, here ? "code now" : "code", text || " ");
    if (here && made.scrollIntoView) made.scrollIntoView({ block: "nearest" });
  }
}

function showStack(step) {
  const parent = empty("stack");
  if (!step) return;
  step.stack.forEach((name, i) => {
    const kind = i < step.taken ? "layer passed" : i === step.taken ? "layer taken" : "layer";
    const made = put(parent, kind, name);
    if (i === step.taken) {
      const how = document.createElement("small");
      how.textContent = step.how;
      made.appendChild(how);
    }
  });
}

function showEvents(step) {
  const parent = empty("events");
  if (!step) return;
  steps.forEach((other, i) => {
    if (other.root !== step.root) return;
    const kind = i === at ? "event now" : i > at ? "event later" : "event";
    const made = put(parent, kind, "");
    made.style.paddingLeft = 1.5 + 1.2 * other.depth + "em";
    const call = other.effect + "(" + other.operands.join(", ") + ") ";
    made.appendChild(document.createTextNode(call));
    const by = document.createElement("span");
    by.className = "by";
    by.textContent = other.handler + " " + other.how;
    made.appendChild(by);
    made.addEventListener("click", () => go(i));
  });
}

function showValues(step) {
  const now = empty("now");
  if (step) {
    pair(now, step.effect, step.attributes, "value");
    step.operands.forEach((text, i) => pair(now, "operand " + i, text, "value"));
    step.results.forEach((text, i) => pair(now, "result " + i, text, "value"));
  }
  const parent = empty("values");
  if (!data.programs.length) return;
  const number = step ? placeOf(step)[0] : 0;
  for (const [name, text] of data.programs[number].inputs) pair(parent, name, text, "value");
  steps.slice(0, at + 1).forEach((other, i) => {
    if (placeOf(other)[0] !== number) return;
    for (const [name, text] of other.binds)
      pair(parent, name, text, i === at ? "value new" : "value");
  });
  if (at === steps.length - 1 || !step) pair(parent, "gives", data.result, "value");
}

function go(to) {
  at = Math.max(0, Math.min(steps.length - 1, to));
  const step = steps[at];
  showProgram(step);
  showStack(step);
  showEvents(step);
  showValues(step);
  const more = data.left_out ? ", and " + data.left_out + " more that are not shown" : "";
  document.getElementById("count").textContent =
    (steps.length ? at + 1 : 0) + " of " + steps.length + more;
  document.getElementById("line").textContent = step ? step.line : "";
  document.getElementById("slider").value = at;
}

document.getElementById("title").textContent = data.title;
document.getElementById("slider").max = Math.max(0, steps.length - 1);
document.getElementById("slider").addEventListener("input", (e) => go(Number(e.target.value)));
document.getElementById("back").addEventListener("click", () => go(at - 1));
document.getElementById("next").addEventListener("click", () => go(at + 1));
document.addEventListener("keydown", (e) => {
  const moves = { ArrowRight: at + 1, n: at + 1, ArrowLeft: at - 1, p: at - 1, Home: 0,
    End: steps.length - 1 };
  if (e.key in moves) {
    e.preventDefault();
    go(moves[e.key]);
  }
});
go(0);
</script>
</body>
</html>
"""
