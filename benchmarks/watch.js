// Runs in the page that is measured: from a key press to the changed DOM, and how many drawings a drag gets.

const watched = window.watched = {
  answer: null,

  next() {  // `answer` becomes [ms to the changed DOM, ms to the frame after it] of the next key press
    watched.answer = new Promise(resolve => {
      addEventListener('keydown', () => {
        const pressed = performance.now();
        watched.drawn(() => {
          const drawn = performance.now() - pressed;
          requestAnimationFrame(() => resolve([drawn, performance.now() - pressed]));
        });
      }, {once: true, capture: true});
    });
  },

  drawn(then) {  // once the script has drawn an answer: it writes the new state last
    const observer = new MutationObserver(() => { observer.disconnect(); then(); });
    observer.observe(document.querySelector('main'), {attributeFilter: ['data-query']});
  },

  async drag(selector, seconds) {
    const main = document.querySelector('main'), range = document.querySelector(selector);
    const [low, high, step] = [range.min, range.max, range.step].map(Number), count = Math.round((high - low) / step);
    let updates = 0, last = '';
    const observer = new MutationObserver(() => updates++);
    observer.observe(main, {attributeFilter: ['data-query']});
    const start = performance.now();
    for (let i = 1; i <= 60 * seconds; i++) {
      await new Promise(resolve => setTimeout(resolve, start + i * 1000 / 60 - performance.now()));
      const at = i % (2 * count);
      range.value = low + (at <= count ? at : 2 * count - at) * step;
      last = range.value;
      range.dispatchEvent(new InputEvent('input', {bubbles: true}));
    }
    const rate = updates / (performance.now() - start) * 1000;
    await new Promise(resolve => setTimeout(resolve, 1500));
    const now = document.querySelector(selector);
    const right = now.getAttribute('value') === last && now.value === last && document.activeElement === now;
    return {rate, right};
  },
};
