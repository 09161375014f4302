/**
 * The program of a terminal's frame. It has its own content security policy, since xterm.js inserts styles, and an
 * opaque origin: a compromised terminal can't reach the page or the session. It makes no network connections; data
 * passes through a port from the page.
 */
import '@xterm/xterm/css/xterm.css'
import './frame.css'
import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { Terminal } from '@xterm/xterm'
import type { FromFrame, Key, Look, ToFrame } from './messages.ts'
import { palettes } from './palette.ts'

const SCROLLBACK = 5_000

window.addEventListener('message', ({ source, data, ports }) => {
  if (source === window.parent && ports[0] !== undefined) draw(ports[0], (data as { look: Look }).look)
})

function draw(port: MessagePort, look: Look): void {
  const say = (message: FromFrame): void => port.postMessage(message)
  const terminal = new Terminal({
    ...optionsFor(look),
    scrollback: SCROLLBACK,
    fontFamily:
      "ui-monospace, 'SF Mono', 'Cascadia Code', 'JetBrains Mono', Menlo, Consolas, 'Liberation Mono', monospace",
    minimumContrastRatio: 4.5,
    cursorBlink: false,
    macOptionIsMeta: true,
  })
  const fit = new FitAddon()
  const search = new SearchAddon()
  terminal.loadAddon(fit)
  terminal.loadAddon(search)
  const screen = document.getElementById('screen')!
  terminal.open(screen)

  /** Replayed output: queries in it were answered when it was new, so answers to them are dropped. */
  let replaying = 0
  terminal.onData((data) => {
    if (replaying === 0) say({ type: 'input', data })
  })
  terminal.onBell(() => say({ type: 'bell' }))
  terminal.onTitleChange((title) => say({ type: 'title', title }))
  terminal.attachCustomKeyEventHandler((event) => !isOurs(event))

  function isOurs(event: KeyboardEvent): boolean {
    const { ctrlKey, shiftKey, altKey, metaKey, code, type } = event
    const ours = (run: () => void): true => {
      event.preventDefault()
      if (type === 'keydown') run()
      return true
    }
    if (ctrlKey && shiftKey && !altKey && !metaKey) {
      if (code === 'KeyC') return ours(copy)
      if (code === 'KeyF') return ours(() => say({ type: 'shortcut', name: 'find' }))
      // Browsers paste natively.
      return code === 'KeyV'
    }
    if (ctrlKey && altKey && !shiftKey && !metaKey) {
      if (code === 'ArrowRight') return ours(() => say({ type: 'shortcut', name: 'next' }))
      if (code === 'ArrowLeft') return ours(() => say({ type: 'shortcut', name: 'previous' }))
    }
    return false
  }
  function copy(): void {
    const text = terminal.getSelection()
    if (text !== '') say({ type: 'copy', text })
  }

  let lastSize = ''
  /** Only an active user sets the size, so that viewers don't resize full-screen programs. */
  function fitIn(): void {
    if (!document.hasFocus()) return
    const size = fit.proposeDimensions()
    if (size === undefined || !(size.cols > 1 && size.rows > 1)) return
    const { cols, rows } = size
    if (terminal.cols !== cols || terminal.rows !== rows) terminal.resize(cols, rows)
    if (lastSize === `${cols} ${rows}`) return
    lastSize = `${cols} ${rows}`
    say({ type: 'resize', cols, rows })
  }
  new ResizeObserver(fitIn).observe(screen)
  window.addEventListener('focus', fitIn)

  port.addEventListener('message', ({ data }) => {
    const message = data as ToFrame
    switch (message.type) {
      case 'look':
        Object.assign(terminal.options, optionsFor(message.look))
        dress(message.look)
        return fitIn()
      case 'snapshot':
        replaying++
        terminal.reset()
        return terminal.write(message.data, () => void replaying--)
      case 'bytes':
        return terminal.write(message.bytes, () => say({ type: 'written', bytes: message.bytes.length }))
      case 'resize':
        lastSize = `${message.cols} ${message.rows}`
        return terminal.resize(message.cols, message.rows)
      case 'key':
        return say({ type: 'input', data: sequenceOf(message.key, terminal.modes.applicationCursorKeysMode) })
      case 'paste':
        return terminal.paste(message.text)
      case 'find': {
        const { words, back } = message
        const found = words !== '' && (back ? search.findPrevious(words) : search.findNext(words))
        return say({ type: 'found', found })
      }
      case 'focus':
        terminal.focus()
        return fitIn()
    }
  })
  dress(look)
  port.start()
}

const optionsFor = ({ scheme, fontSize, screenReader }: Look) => ({
  theme: palettes[scheme],
  fontSize,
  screenReaderMode: screenReader,
})

function dress({ scheme }: Look): void {
  document.documentElement.style.colorScheme = scheme
  document.body.style.background = palettes[scheme].background!
}

/** Like xterm(1): programs switch the mode of the arrow keys. */
function sequenceOf(key: Key, application: boolean): string {
  if (key === 'escape') return '\u001B'
  if (key === 'tab') return '\t'
  return `\u001B${application ? 'O' : '['}${{ up: 'A', down: 'B', right: 'C', left: 'D' }[key]}`
}
