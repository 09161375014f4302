import { type Pair, columns, sections } from '../output/layout.ts'
import type { Terminal } from '../terminal.ts'

const entering: Pair[] = [
  ['uk login', 'Sign in on this machine.'],
  ['uk sign-up', 'Create an account. The first one is the administrator.'],
]
const talking: Pair[] = [
  ["uk ask 'Hello'", 'Ask one question.'],
  ['uk chat', 'Chat in the terminal.'],
]
const further: Pair[] = [
  ['uk search <words>', 'Search messages, files, chats and more.'],
  ['uk open', 'Open the app in your browser.'],
  ['uk help', 'List all areas, commands and options.'],
  ['uk <area> --help', 'Help for one area: uk agents --help.'],
]

/** Printed by `uk` without arguments. */
export const welcomePage = (signedIn: boolean, terminal: Terminal): string =>
  sections(terminal, [
    ['Ukiyo: chats, agents, files and models on your own server', ''],
    ...(signedIn ? [] : [['Get started', columns(entering, terminal)] as const]),
    ['Chat', columns(talking, terminal)],
    ['More', columns(further, terminal)],
  ])
