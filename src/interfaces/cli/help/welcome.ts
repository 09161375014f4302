import { type Pair, columns, sections } from '../output/layout.ts'
import type { Terminal } from '../terminal.ts'

const entering: Pair[] = [
  ['uk login', 'Sign in; the key of this machine is kept.'],
  ['uk sign-up', 'Make an account; the first one is the administrator.'],
]
const talking: Pair[] = [
  ["uk ask 'Hello'", 'One question; the answer as it is written.'],
  ['uk chat', 'A conversation, here in the terminal.'],
]
const further: Pair[] = [
  ['uk search <words>', 'Find messages, files, chats and more.'],
  ['uk open', 'Open the app, or a thing in it.'],
  ['uk help', 'Every area, command and option.'],
  ['uk <area> --help', 'One of them: uk agents --help.'],
]

/** The page that `uk` alone prints: where to begin, in few lines. Who is not signed in begins there. */
export const welcomePage = (signedIn: boolean, terminal: Terminal): string =>
  sections(terminal, [
    ['Ukiyo: chats, agents, files and models of your own server', ''],
    ...(signedIn ? [] : [['First', columns(entering, terminal)] as const]),
    ['Talk', columns(talking, terminal)],
    ['More', columns(further, terminal)],
  ])
