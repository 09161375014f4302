/** The one style sheet of the docs: no fonts or pictures from anywhere, light and dark as the reader's system says. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fdfcfa, #14161a);
  --raised: light-dark(#f4f1ec, #1c1f25);
  --line: light-dark(#e2ddd4, #2d323b);
  --ink: light-dark(#24211d, #e4e2dd);
  --quiet: light-dark(#655f56, #a39f97);
  --accent: light-dark(#1f5f8b, #86bfe6);
  --get: light-dark(#1c6b45, #7fcfa4);
  --post: light-dark(#1f5f8b, #86bfe6);
  --patch: light-dark(#8a5a00, #e3b860);
  --delete: light-dark(#a3302b, #f09a94);
  --mono: ui-monospace, "SF Mono", "Cascadia Code", "JetBrains Mono", Menlo, Consolas, monospace;
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1.5rem; scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 1rem/1.6 ui-sans-serif, system-ui, -apple-system, "Segoe UI", sans-serif;
  display: grid; grid-template-columns: 15.5rem minmax(0, 1fr); min-height: 100vh;
}
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; z-index: 2; background: var(--ground); padding: .5rem 1rem; border: 1px solid var(--line); }
nav.areas {
  position: sticky; top: 0; align-self: start; height: 100vh; overflow-y: auto;
  padding: 1.75rem 1rem 2rem 1.5rem; border-right: 1px solid var(--line); font-size: .9rem;
}
nav.areas .name { font-weight: 650; font-size: 1.05rem; letter-spacing: -.01em; color: var(--ink); text-decoration: none; }
nav.areas ul { list-style: none; margin: 1.1rem 0; padding: 0; }
nav.areas li a { display: block; padding: .18rem .55rem; margin-left: -.55rem; border-radius: .3rem; color: var(--quiet); text-decoration: none; }
nav.areas li a:hover { color: var(--ink); background: var(--raised); }
nav.areas li a[aria-current] { color: var(--ink); background: var(--raised); font-weight: 600; }
main { padding: 2.5rem clamp(1.25rem, 4vw, 4rem) 6rem; max-width: 74rem; }
h1 { font-size: 2rem; line-height: 1.2; letter-spacing: -.02em; margin: 0 0 .4rem; font-weight: 680; text-wrap: balance; }
h2 { font-size: 1.3rem; line-height: 1.3; letter-spacing: -.01em; margin: 3rem 0 .6rem; font-weight: 640; text-wrap: balance; }
h3 { font-size: .82rem; margin: 1.6rem 0 .4rem; color: var(--quiet); font-weight: 600; }
h2 a.anchor { color: inherit; text-decoration: none; }
h2 a.anchor:hover { text-decoration: underline; }
p { margin: .5rem 0; max-width: 44rem; }
.lead { font-size: 1.1rem; color: var(--quiet); }
code, pre { font-family: var(--mono); font-size: .86em; }
:not(pre) > code { background: var(--raised); padding: .1em .35em; border-radius: .25rem; overflow-wrap: anywhere; }
pre {
  margin: .4rem 0; padding: .85rem 1rem; background: var(--raised); border: 1px solid var(--line); border-radius: .5rem;
  overflow-x: auto; line-height: 1.5; tab-size: 2;
}
section.endpoint { border-top: 1px solid var(--line); margin-top: 2.75rem; padding-top: .4rem; }
section.endpoint h2 { margin-top: 1.6rem; }
.call { display: flex; flex-wrap: wrap; align-items: baseline; gap: .3rem .7rem; margin: .3rem 0 .8rem; }
.call code { background: none; padding: 0; font-size: .95em; }
.method { font: 650 .78rem/1 var(--mono); letter-spacing: .04em; }
.GET { color: var(--get); } .POST, .PUT { color: var(--post); } .PATCH { color: var(--patch); } .DELETE { color: var(--delete); }
.meta { color: var(--quiet); font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; margin: .4rem 0; }
th { text-align: left; font-weight: 600; color: var(--quiet); font-size: .82rem; }
th, td { padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child { white-space: nowrap; }
td.type { color: var(--quiet); white-space: nowrap; }
.required { color: var(--patch); font-size: .78rem; margin-left: .35rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 0 1.5rem; align-items: start; }
.pair > * { min-width: 0; }
details { margin: .9rem 0 0; }
summary { cursor: pointer; color: var(--quiet); font-size: .9rem; width: fit-content; }
summary:hover { color: var(--ink); }
.contents { columns: 18rem; list-style: none; padding: 0; margin: 1.25rem 0 0; font-size: .93rem; }
.contents li { break-inside: avoid; padding: .12rem 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .8rem; padding: 0; list-style: none; margin: 1rem 0; }
.cards a { display: block; height: 100%; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: .5rem; color: inherit; text-decoration: none; }
.cards a:hover { border-color: var(--accent); }
.cards strong { display: block; }
.cards span { color: var(--quiet); font-size: .9rem; }
@media (max-width: 52rem) {
  body { display: block; }
  nav.areas { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); padding: 1rem 1.25rem; }
  nav.areas ul { display: flex; flex-wrap: wrap; gap: .1rem .9rem; margin: .6rem 0 0; }
}
@media print { nav.areas { display: none; } body { display: block; } }
`
