/** The stylesheet of the docs: no external fonts or images; follows the system's color scheme. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fdfcfa, #14161a);
  --raised: light-dark(#f4f1ec, #1c1f25);
  --line: light-dark(#e2ddd4, #2d323b);
  --ink: light-dark(#24211d, #e4e2dd);
  --quiet: light-dark(#655f56, #a39f97);
  --accent: light-dark(#1f5f8b, #86bfe6);
  --edge: light-dark(#8f887c, #6b7280);
  --get: light-dark(#1c6b45, #7fcfa4);
  --post: light-dark(#1f5f8b, #86bfe6);
  --patch: light-dark(#8a5a00, #e3b860);
  --delete: light-dark(#a3302b, #f09a94);
  --mono: ui-monospace, "SF Mono", "Cascadia Code", "JetBrains Mono", Menlo, Consolas, monospace;
}
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0; background: var(--ground); color: var(--ink); min-height: 100vh;
  font: 1rem/1.6 ui-sans-serif, system-ui, -apple-system, "Segoe UI", sans-serif;
  display: grid; grid-template: "top top" auto "menu main" 1fr / 17rem minmax(0, 1fr);
}
header {
  grid-area: top; position: sticky; top: 0; z-index: 1; display: flex; align-items: center; gap: 1rem;
  padding: .55rem 1.5rem; background: var(--ground); border-bottom: 1px solid var(--line);
}
header .name { font-weight: 650; font-size: 1.05rem; letter-spacing: -.01em; color: var(--ink); text-decoration: none; flex: 0 0 14.5rem; }
header .to-app, header .to-menu { color: var(--quiet); text-decoration: none; font-size: .9rem; padding: .3rem 0; }
header .to-menu { display: none; }
header .to-app { margin-left: auto; }
form.search { position: relative; flex: 0 1 30rem; }
input, textarea, select, button { font: inherit; color: inherit; }
form.search input { width: 100%; padding: .38rem .75rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--raised); }
input::placeholder { color: var(--quiet); opacity: 1; }
.results { position: absolute; left: 0; right: 0; top: calc(100% + .35rem); max-height: 75vh; overflow-y: auto; padding: .35rem;
  background: var(--ground); border: 1px solid var(--line); border-radius: .6rem; box-shadow: 0 .6rem 2rem #0003; }
.results a, .found a { display: block; padding: .45rem .6rem; border-radius: .4rem; color: inherit; text-decoration: none; line-height: 1.4; }
.results a:hover, .results a:focus, .found a:hover { background: var(--raised); }
.results small, .found small { color: var(--quiet); margin-left: .5rem; }
.results span, .found span { display: block; color: var(--quiet); font-size: .85rem; overflow-wrap: anywhere; }
.results p { margin: .5rem .6rem; color: var(--quiet); }
.found { list-style: none; padding: 0; margin: 1rem 0 0 -.6rem; max-width: 48rem; }
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; z-index: 2; background: var(--ground); padding: .5rem 1rem; border: 1px solid var(--line); }
nav {
  grid-area: menu; position: sticky; top: 3.3rem; align-self: start; height: calc(100vh - 3.3rem); overflow-y: auto;
  padding: 1rem 1rem 2rem 1.5rem; border-right: 1px solid var(--line); font-size: .9rem;
}
nav h2 { font-size: .78rem; margin: 1.3rem 0 .3rem; color: var(--quiet); font-weight: 600; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav ul ul { margin: .1rem 0 .5rem .55rem; border-left: 1px solid var(--line); padding-left: .9rem; font-size: .95em; }
nav li a { display: block; padding: .18rem .55rem; margin-left: -.55rem; border-radius: .3rem; color: var(--quiet); text-decoration: none; line-height: 1.4; }
nav li a:hover { color: var(--ink); background: var(--raised); }
nav li a[aria-current] { color: var(--ink); background: var(--raised); font-weight: 600; }
main { grid-area: main; min-width: 0; padding: 2rem clamp(1.25rem, 4vw, 4rem) 6rem; max-width: 80rem; }
article { max-width: 48rem; }
main img { max-width: 100%; height: auto; border-radius: .5rem; }
h1 { font-size: 2rem; line-height: 1.2; letter-spacing: -.02em; margin: 0 0 .4rem; font-weight: 680; text-wrap: balance; }
h2 { font-size: 1.3rem; line-height: 1.3; letter-spacing: -.01em; margin: 3rem 0 .6rem; font-weight: 640; text-wrap: balance; }
h3 { font-size: .82rem; margin: 1.6rem 0 .4rem; color: var(--quiet); font-weight: 600; }
h2 a.anchor { color: inherit; text-decoration: none; }
h2 a.anchor:hover { text-decoration: underline; }
p { margin: .5rem 0; max-width: 44rem; }
.lead { font-size: 1.1rem; color: var(--quiet); }
code, pre { font-family: var(--mono); font-size: .86em; }
pre code { font-size: inherit; }
:not(pre) > code { background: var(--raised); padding: .1em .35em; border-radius: .25rem; overflow-wrap: anywhere; }
pre {
  margin: .4rem 0; padding: .85rem 1rem; background: var(--raised); border: 1px solid var(--line); border-radius: .5rem;
  overflow-x: auto; line-height: 1.5; tab-size: 2;
}
.fields { list-style: none; padding: 0; margin: .4rem 0; }
.fields li { padding: .55rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.fields .type { color: var(--quiet); font-size: .85rem; margin-left: .3rem; }
.fields p { margin: .15rem 0 0; font-size: .92rem; }
.place { margin: 0 0 .2rem; font-size: .9rem; }
.pair h2 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
.code { position: relative; }
.copy { position: absolute; top: .4rem; right: .4rem; padding: .1rem .55rem; font-size: .78rem; line-height: 1.6; color: var(--quiet);
  background: var(--ground); border: 1px solid var(--line); border-radius: .35rem; cursor: pointer; opacity: 0; }
.code:hover .copy, .copy:focus { opacity: 1; }
@media (hover: none) { .copy { opacity: 1; } }
.copy:hover { color: var(--ink); }
.tabs { display: flex; gap: .2rem; margin: 1.4rem 0 0; border-bottom: 1px solid var(--line); }
.tabs button { padding: .3rem .7rem; border: 0; border-bottom: 2px solid transparent; margin-bottom: -1px; background: none; color: var(--quiet); cursor: pointer; font-size: .9rem; }
.tabs button[aria-selected=true] { color: var(--ink); border-color: var(--accent); font-weight: 600; }
.operations { list-style: none; padding: 0; margin: 1.5rem 0 0; }
.operations a { display: grid; grid-template-columns: 4.2rem minmax(0, 22rem) 1fr; gap: .2rem .8rem; align-items: baseline; padding: .5rem .6rem; margin: 0 -.6rem;
  color: inherit; text-decoration: none; border-radius: .4rem; border-bottom: 1px solid var(--line); }
.operations a:hover { background: var(--raised); }
.operations code { background: none; padding: 0; }
.try { margin-top: 3rem; padding: .2rem 1.25rem 1.25rem; border: 1px solid var(--line); border-radius: .6rem; }
.try h2 { margin-top: 1rem; }
.field { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: .2rem 1rem; align-items: baseline; margin: .6rem 0; font-size: .9rem; }
.field > span { font-family: var(--mono); font-size: .86em; }
.field small { color: var(--patch); font-family: inherit; }
.field input, .field select, .field textarea { width: 100%; padding: .35rem .6rem; border: 1px solid var(--edge); border-radius: .4rem; background: var(--ground); }
.field textarea { font: .86rem/1.5 var(--mono); resize: vertical; }
.sure { display: block; margin: .8rem 0; font-size: .9rem; }
.try button[type=submit] { padding: .4rem 1rem; border: 0; border-radius: .45rem; background: var(--accent); color: var(--ground); font-weight: 600; cursor: pointer; }
.try button[type=submit]:disabled { opacity: .6; }
.answer pre { max-height: 28rem; overflow: auto; }
blockquote { margin: .8rem 0; padding: .1rem 0 .1rem 1rem; border-left: 3px solid var(--line); color: var(--quiet); }
article li { margin: .25rem 0; }
article h1 { margin-bottom: 1rem; }
article td:first-child { white-space: normal; }
article h3 { font-size: 1.05rem; color: inherit; margin-top: 1.8rem; }
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
  body { display: flex; flex-direction: column; }
  header { padding: .5rem 1.25rem; gap: .8rem; }
  header .name { flex: none; }
  header .to-menu { display: block; }
  header .to-app { margin-left: 0; }
  form.search { flex: 1 1 6rem; }
  .results { position: fixed; left: .6rem; right: .6rem; top: 3.3rem; }
  nav { position: static; height: auto; border-right: 0; border-top: 1px solid var(--line); padding: 1.25rem; font-size: 1rem; }
  nav li a { padding: .35rem .55rem; }
  main { padding-top: 1.25rem; padding-bottom: 3rem; }
  h1 { font-size: 1.6rem; overflow-wrap: anywhere; }
  .operations a { grid-template-columns: 4.2rem 1fr; }
  .operations a span:last-child { grid-column: 1 / -1; color: var(--quiet); }
  .field { grid-template-columns: 1fr; }
  .contents { columns: 1; }
}
@media print { nav, header { display: none; } body { display: block; } }
`
