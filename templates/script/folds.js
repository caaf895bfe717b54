/* Folds. What a closed fold holds waits in a noscript element, one text to this browser, and is put
   in place when the fold opens. Gives `reportFolds`. */
var reportFolds = (function () {
  "use strict";

  function packed(fold) {
    return fold.querySelector(":scope > noscript");
  }

  function unpack(fold) {
    var waiting = packed(fold);
    if (!waiting) return;
    var made = document.createElement("template");
    made.innerHTML = waiting.textContent;
    waiting.replaceWith(made.content);
    fold.dispatchEvent(new CustomEvent("rg-unfolded", { bubbles: true }));
  }

  function open(fold) {
    unpack(fold);
    fold.open = true;
  }

  function all() {
    return Array.prototype.slice.call(document.querySelectorAll("main details"));
  }

  /* The element of that id, its folds opened on the way. */
  function reveal(id) {
    var mark = 'id="' + id + '"';
    if (!document.getElementById(id)) {
      all().some(function (fold) {
        var isHere = packed(fold) && packed(fold).textContent.indexOf(mark) >= 0;
        if (isHere) unpack(fold);
        return isHere;
      });
    }
    var target = document.getElementById(id);
    var topic = target && target.querySelector(":scope > .rg-topic");
    if (topic) open(topic);
    for (var fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      open(fold);
    }
    if (target) choose(target);
    return target;
  }

  /* Of views of which one is shown: shows the one that holds an element. */
  function choose(target) {
    var pane = target.closest(".rg-pane");
    if (!pane) return;
    document.getElementById(pane.previousElementSibling.htmlFor).checked = true;
    var leaveOut = pane.parentElement.querySelector(".rg-choices-switch");
    var isWhole = target.closest(".rg-pane-all");
    if (leaveOut && (isWhole || target.closest(".rg-pane-rest"))) leaveOut.checked = !isWhole;
  }

  function follow() {
    var target = null;
    try {
      target = reveal(decodeURIComponent(location.hash.slice(1)));
    } catch (error) {
      /* A link that somebody has cut short. */
    }
    if (target) target.scrollIntoView();
  }

  document.addEventListener("toggle", function (event) {
    if (event.target.open) unpack(event.target);
  }, true);
  addEventListener("hashchange", follow);
  if (location.hash) follow();

  /* Paper shows what is open; with `?print=all` all that is folded, too. */
  var printsAll = new URLSearchParams(location.search).get("print") === "all";

  return { printsAll: printsAll, all: all, open: open, reveal: reveal, unpack: unpack };
})();
