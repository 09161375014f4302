import { spawn } from 'node:child_process'
import { parseArguments } from '../input/arguments.ts'
import { didYouMean, nearWords } from '../near.ts'
import { Stop, codeOf } from '../exit.ts'
import { textField } from '../input/fields.ts'
import { readText } from '../input/input.ts'
import type { Globals } from '../globals.ts'
import { callerOf } from '../server/caller.ts'
import { targetOf } from '../server/credentials.ts'
import { type Kind, idOf } from '../server/names.ts'
import type { Terminal } from '../terminal.ts'

const pages: Readonly<Record<string, string>> = {
  home: '/',
  usage: '/ai-routing/usage',
  providers: '/ai-routing',
  keys: '/ai-routing/keys',
  notifications: '/settings/notifications',
  shared: '/shared-with-me',
  invitations: '/invitations',
}
const things: Readonly<Record<string, { kind: Kind; path: string }>> = {
  chat: { kind: 'chat', path: '/chats/' },
  automation: { kind: 'automation', path: '/automations/' },
}

export const openable = [...Object.keys(things), ...Object.keys(pages)]

const fields = [
  { ...textField('what'), inPath: true },
  { ...textField('name'), inPath: true, rest: true as const },
  { ...textField('print'), kind: 'switch' as const },
]

/** `uk open chat <name>`: opens a resource in the app, or prints its link without a display. */
export async function open(words: readonly string[], terminal: Terminal): Promise<number> {
  const { input, globals } = await parseArguments(words, fields, readText)
  const { what = 'home', name, print = false } = input as { what?: string; name?: string; print?: boolean }
  const thing = things[what.replace(/s$/, '')]
  const page = pages[what]
  if (thing === undefined && page === undefined)
    throw new Stop(
      'usage',
      `Can't open "${what}" in the app.`,
      didYouMean(nearWords(what, openable)) ?? `You can open: ${openable.join(', ')}.`,
    )
  if (thing === undefined) return openInApp(page!, globals, terminal, print)
  if (name === undefined) throw new Stop('usage', `Which ${what}?`, `Pass its name or ID: uk open ${what} <name>`)
  const { call } = await callerOf(globals, terminal)
  return openInApp(`${thing.path}${await idOf(thing.kind, name, call)}`, globals, terminal, print)
}

export async function openInApp(path: string, globals: Globals, terminal: Terminal, print = false): Promise<number> {
  const { origin } = await targetOf(terminal, globals)
  const url = `${origin}/app${path === '/' ? '' : path}`
  if (print || !(await openedBy(terminal, url))) await terminal.out(`${url}\n`)
  else terminal.err(`Opened ${url}`)
  return codeOf('ok')
}

/** SSH sessions and containers have no browser. */
function openedBy({ env, interactive }: Terminal, url: string): Promise<boolean> {
  const desktop = process.platform === 'darwin' ? 'open' : env.DISPLAY || env.WAYLAND_DISPLAY ? 'xdg-open' : null
  if (desktop === null || !interactive || env.SSH_CONNECTION) return Promise.resolve(false)
  return new Promise((resolve) => {
    const child = spawn(desktop, [url], { stdio: 'ignore', detached: true })
    child.on('error', () => resolve(false)).on('spawn', () => (child.unref(), resolve(true)))
  })
}
