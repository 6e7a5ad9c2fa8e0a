// The console works without this. It counts times on, shows them in local time, copies commands, checks JSON while it is
// typed, listens for keys, and keeps an open page up to date.
"use strict";
(() => {
  const body = document.body;
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const byId = (id) => document.getElementById(id);

  // Times. The server's clock counts, not the reader's.
  let skew = Number(body.dataset.now) - Date.now();
  const now = () => Date.now() + skew;

  function duration(ms) {
    ms = Math.max(0, ms);
    const s = Math.round(ms / 1000);
    if (ms < 59950) return (ms / 1000).toFixed(1) + " s";
    if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
    if (s < 86400) return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
    return Math.floor(s / 86400) + " d " + Math.floor((s % 86400) / 3600) + " h";
  }

  function ago(ms) {
    const s = Math.round(ms / 1000);
    if (s < 10) return "just now";
    if (s < 60) return s + " s ago";
    if (s < 3600) return Math.floor(s / 60) + " min ago";
    if (s < 86400) return Math.floor(s / 3600) + " h ago";
    return "";
  }

  let zone = "UTC";
  try { zone = localStorage.getItem("zone") || "UTC"; } catch { /* no storage: UTC */ }

  function moment(date) {
    if (zone === "UTC") return date.toISOString().slice(0, 19).replace("T", " ");
    const two = (n) => String(n).padStart(2, "0");
    return date.getFullYear() + "-" + two(date.getMonth() + 1) + "-" + two(date.getDate()) + " " +
      two(date.getHours()) + ":" + two(date.getMinutes()) + ":" + two(date.getSeconds());
  }

  function write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  function tick() {
    for (const element of all("time[data-since]")) write(element, duration(now() - element.dataset.since));
    for (const element of all("time[data-until]")) write(element, duration(element.dataset.until - now()));
    for (const element of all("time[data-ago]")) {
      write(element, ago(now() - element.dataset.ago) || moment(new Date(element.dateTime)));
    }
  }

  function moments(root) {
    for (const element of all("time:not(.tick,[data-ago])", root)) write(element, moment(new Date(element.dateTime)));
  }

  const zoneButton = byId("zone");
  if (zoneButton) {
    zoneButton.hidden = false;
    write(zoneButton, zone);
    zoneButton.addEventListener("click", () => {
      zone = zone === "UTC" ? "Local" : "UTC";
      try { localStorage.setItem("zone", zone); } catch { /* for this page only */ }
      write(zoneButton, zone);
      moments(document);
      tick();
    });
  }

  // What each new piece of the page needs.
  function dress(root) {
    if (zone !== "UTC") moments(root);
    if (navigator.clipboard) for (const button of all(".copy", root)) button.hidden = false;
    for (const canvas of all(".canvas", root)) show(canvas);
    tick();
  }

  // Brings the state that the page is about into view, without moving the page itself.
  function show(canvas) {
    const state = canvas.querySelector("[data-selected]") || canvas.querySelector("[data-status]");
    if (!state) return;
    const box = state.getBoundingClientRect(), frame = canvas.getBoundingClientRect();
    canvas.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
    canvas.scrollTop += box.top + box.height / 2 - frame.top - frame.height / 2;
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    write(button, "Copied");
    setTimeout(() => write(button, "Copy"), 1500);
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches(".visits select")) event.target.form.requestSubmit();
  });

  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-json]")) return;
    const problem = byId("input-problem");
    try {
      JSON.parse(event.target.value);
      write(problem, "");
      event.target.removeAttribute("aria-invalid");
    } catch (error) {
      write(problem, "not JSON: " + error.message);
      event.target.setAttribute("aria-invalid", "true");
    }
  });

  // Keys.
  const places = { o: "", e: "executions", m: "machines", f: "functions", i: "invocations", d: "deadletters" };
  let going = 0, row = -1;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input,textarea,select");
    if (event.key === "Escape") {
      if (typing) event.target.blur();
      for (const menu of all("details.menu[open]")) menu.open = false;
      return;
    }
    if (typing) return;
    const goes = Date.now() - going < 1000;
    going = 0;
    if (goes && event.key in places) location.href = "/console/" + places[event.key];
    else if (event.key === "g") going = Date.now();
    else if (event.key === "/") byId("search").focus();
    else if (event.key === "?") byId("help").showModal();
    else if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
    else return;
    event.preventDefault();
  });

  function move(by) {
    const rows = all(".rows tbody tr");
    if (!rows.length) return;
    row = Math.min(rows.length - 1, Math.max(0, row + by));
    rows.forEach((element, index) => element.classList.toggle("at", index === row));
    const link = rows[row].querySelector("a.main");
    if (link) link.focus();
  }

  // Live. One stream for a visible page, none for a hidden one: browsers allow few connections to a server.
  const address = body.dataset.live;
  const offline = byId("offline");
  let stream = null, timer = 0, version = "";

  function replace(id, html) {
    const element = byId(id);
    if (!element) return;
    const focus = element.contains(document.activeElement) ? document.activeElement : null;
    // What a reader is filling in stays as it is.
    if (focus && focus.matches("input,textarea,select")) return;
    const open = all("details[open]", element).map(path);
    const shut = all("details:not([open])", element).map(path);
    const canvas = element.querySelector(".canvas");
    const at = canvas && [canvas.scrollLeft, canvas.scrollTop];
    const where = focus && path(focus);
    element.innerHTML = html;
    for (const one of all("details", element)) {
      if (open.includes(path(one))) one.open = true;
      else if (shut.includes(path(one))) one.open = false;
    }
    dress(element);
    const fresh = element.querySelector(".canvas");
    if (fresh && at) [fresh.scrollLeft, fresh.scrollTop] = at;
    const target = where && all(focus.tagName, element).find((one) => path(one) === where);
    if (target) target.focus({ preventScroll: true });
  }

  // The same element in the next version of a fragment: by what it says, and its place among those.
  function path(element) {
    const name = element.querySelector(":scope>summary")?.querySelector("strong")?.textContent ??
      element.id ?? element.getAttribute("href");
    const same = all(element.tagName, element.closest("main>div")).indexOf(element);
    return element.tagName + "|" + (name || element.textContent.slice(0, 40)) + "|" + (name ? "" : same);
  }

  function take(event) {
    const message = JSON.parse(event.data);
    skew = message.now - Date.now();
    version = event.lastEventId;
    for (const [id, html] of Object.entries(message.fragments)) replace(id, html);
  }

  function connect() {
    clearTimeout(timer);
    if (stream || !address || document.hidden) return;
    const since = version ? "&since=" + encodeURIComponent(version) : "";
    stream = new EventSource("/console/live?page=" + encodeURIComponent(address) + since);
    stream.addEventListener("fragments", take);
    stream.onopen = () => { offline.hidden = true; };
    stream.onerror = () => {
      // The browser reconnects by itself, unless it was refused.
      if (!document.hidden) offline.hidden = false;
      if (stream && stream.readyState === EventSource.CLOSED) {
        disconnect();
        timer = setTimeout(poll, 5000);
      }
    };
  }

  function disconnect() {
    if (stream) stream.close();
    stream = null;
  }

  // Too many streams are open, or the server is away: asks now and then.
  async function poll() {
    if (document.hidden) return;
    try {
      const answer = await fetch(address, { headers: { Accept: "text/html" } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const fragment of all("main>div[id]", page)) {
          if (byId(fragment.id)?.innerHTML !== fragment.innerHTML) replace(fragment.id, fragment.innerHTML);
        }
        offline.hidden = true;
      }
    } catch { /* still away */ }
    connect();
  }

  document.addEventListener("visibilitychange", () => document.hidden ? disconnect() : connect());
  addEventListener("pagehide", disconnect);

  dress(document);
  setInterval(tick, 200);
  connect();
})();
