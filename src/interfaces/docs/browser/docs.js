/**
 * The script of the docs: copy buttons, tabs of languages, search as one types, and the form that tries an endpoint. Pages
 * are whole without it. It asks nobody but this server, and keeps nothing but the language that was picked.
 */
const make = (tag, properties = {}, ...inner) => {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...inner)
  return element
}

// ── the reader's address ────────────────────────────────────────────────────
// The server tells what it knows of itself. A proxy that ends TLS may have told it nothing: the browser knows better.
const main = document.querySelector('main')
const told = main.dataset.origin
if (told !== location.origin) {
  const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(told, location.origin)
}

// ── copying ─────────────────────────────────────────────────────────────────
for (const pre of document.querySelectorAll('main pre')) {
  const button = make('button', { type: 'button', className: 'copy', textContent: 'Copy' })
  const copy = async () => {
    await navigator.clipboard.writeText(pre.textContent)
    button.textContent = 'Copied'
    setTimeout(() => (button.textContent = 'Copy'), 1_500)
  }
  button.addEventListener('click', () => void copy())
  const frame = make('div', { className: 'code' })
  pre.replaceWith(frame)
  frame.append(pre, button)
}

// ── languages ───────────────────────────────────────────────────────────────
const KEPT = 'uk-docs-language'
for (const languages of document.querySelectorAll('.languages')) {
  const sections = [...languages.querySelectorAll('.language')]
  const tabs = sections.map((section, i) => {
    const id = `language-${i}`
    const tab = make('button', { type: 'button', id: `${id}-tab`, textContent: section.dataset.language })
    tab.setAttribute('role', 'tab')
    tab.setAttribute('aria-controls', id)
    section.id = id
    section.setAttribute('role', 'tabpanel')
    section.setAttribute('aria-labelledby', tab.id)
    section.querySelector('h2').hidden = true
    tab.addEventListener('click', () => pick(i))
    return tab
  })
  const pick = (picked, keep = true) => {
    tabs.forEach((tab, i) => {
      tab.setAttribute('aria-selected', String(i === picked))
      tab.tabIndex = i === picked ? 0 : -1
      sections[i].hidden = i !== picked
    })
    if (keep) localStorage.setItem(KEPT, sections[picked].dataset.language)
  }
  const list = make('div', { className: 'tabs' }, ...tabs)
  list.setAttribute('role', 'tablist')
  list.setAttribute('aria-label', 'Language')
  list.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
    if (step === undefined) return
    const next = (tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length
    pick(next)
    tabs[next].focus()
  })
  languages.prepend(list)
  const before = sections.findIndex(({ dataset }) => dataset.language === localStorage.getItem(KEPT))
  pick(Math.max(before, 0), false)
}

// ── search ──────────────────────────────────────────────────────────────────
const form = document.querySelector('form.search')
const field = form.querySelector('input')
const found = make('div', { className: 'results', hidden: true })
found.setAttribute('role', 'region')
found.setAttribute('aria-label', 'Search results')
form.append(found)
let asking = new AbortController()
field.addEventListener('input', () => void search())

async function search() {
  asking.abort()
  asking = new AbortController()
  const { signal } = asking
  const words = field.value.trim()
  if (words === '') return void (found.hidden = true)
  const response = await fetch(`/docs/search.json?q=${encodeURIComponent(words)}`, { signal }).catch(() => null)
  const results = response?.ok ? await response.json().catch(() => null) : null
  if (results === null || signal.aborted) return
  found.replaceChildren(
    ...results.map(({ path, title, place, excerpt }) =>
      make(
        'a',
        { href: path },
        make('strong', { textContent: title }),
        make('small', { textContent: place }),
        make('span', { textContent: excerpt }),
      ),
    ),
    ...(results.length === 0 ? [make('p', { textContent: 'No results.' })] : []),
  )
  found.hidden = false
}
form.addEventListener('keydown', (event) => {
  const places = [field, ...found.querySelectorAll('a')]
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (event.key === 'Escape') {
    found.hidden = true
    field.focus()
  } else if (step !== undefined && !found.hidden) {
    event.preventDefault()
    places[(places.indexOf(document.activeElement) + step + places.length) % places.length].focus()
  }
})
form.addEventListener('focusout', ({ relatedTarget }) => {
  if (!form.contains(relatedTarget)) found.hidden = true
})
document.addEventListener('keydown', (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '')
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  field.focus()
})

// ── where one is ────────────────────────────────────────────────────────────
const menu = document.querySelector('nav')
const current = menu.querySelector('[aria-current]')
if (current) menu.scrollTop = current.offsetTop - menu.clientHeight / 3

// ── who reads ───────────────────────────────────────────────────────────────
/** What the server says to the session of the app; null to who is not signed in. */
const ask = async (path) => {
  const response = await fetch(`/v1${path}`, { credentials: 'same-origin' }).catch(() => null)
  return response?.ok ? (await response.json()).data : null
}
const attempt = document.querySelector('section.try')
const curl = document.querySelector('.language[data-language=curl] code')
if (attempt || curl) void greet()

async function greet() {
  const me = await ask('/me')
  if (me === null) return
  if (attempt) {
    attempt.querySelector('[data-who]').textContent = me.name
    attempt.hidden = false
  }
  if (!curl?.textContent.includes('$UK_KEY')) return
  const keys = (await ask('/api-keys?limit=100')) ?? []
  const key = keys.find(({ status }) => status === 'active')
  // A comment, so that what is copied runs: nobody but its owner knows the rest of a key.
  const words = key
    ? `# UK_KEY is your key “${key.name.replaceAll(/\s+/g, ' ')}”, ${key.prefix}…\n`
    : `# UK_KEY is a key of yours: ${location.origin}/app/settings/developer makes one\n`
  curl.prepend(words)
}

// ── trying ──────────────────────────────────────────────────────────────────
attempt?.querySelector('form').addEventListener('submit', (event) => {
  event.preventDefault()
  void send(event.target)
})

async function send(form) {
  const { answer } = attempt.dataset
  const button = attempt.querySelector('button[type=submit]')
  const shown = attempt.querySelector('.answer')
  const head = make('p')
  const body = make('pre', { tabIndex: 0 })
  shown.replaceChildren(head)
  button.disabled = true
  try {
    const { requestOf, readAnswer } = await import('/docs/try-it.js')
    const asked = requestOf(triedIn(form))
    const begun = performance.now()
    const response = await fetch(...asked)
    const took = Math.round(performance.now() - begun)
    head.append(make('strong', { textContent: `${response.status} ${response.statusText}` }), ` in ${took} ms`)
    shown.append(body)
    await readAnswer(response, answer === 'bytes', (text) => (body.textContent = text))
  } catch (error) {
    head.textContent = error instanceof SyntaxError ? `The body is not JSON: ${error.message}` : String(error.message)
  } finally {
    button.disabled = false
  }
}

/** The form as it was filled in. */
function triedIn(form) {
  const { method, path } = attempt.dataset
  const params = {}
  const query = []
  for (const { value, name, dataset } of form.querySelectorAll('[data-in]'))
    if (dataset.in === 'path') params[name] = value
    else if (value !== '') query.push([name, value])
  const text = form.querySelector('textarea')?.value.trim() ?? ''
  const input = form.querySelector('input[type=file]')
  const file = input?.files[0] ?? null
  return {
    method,
    path: `/v1${path}`,
    params,
    query,
    json: text === '' ? undefined : JSON.parse(text),
    file,
    part: input?.dataset.part ?? '',
  }
}
