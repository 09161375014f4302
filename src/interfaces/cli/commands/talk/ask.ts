import { codeOf, Stop } from '../../exit.ts'
import { parseArguments } from '../../input/arguments.ts'
import { type Field, textField } from '../../input/fields.ts'
import { readText } from '../../input/input.ts'
import { piped } from '../../input/piped.ts'
import { decider } from '../../output/decide.ts'
import { followRun } from '../../output/follow.ts'
import { printStream } from '../../output/stream.ts'
import type { Terminal } from '../../terminal.ts'
import { converse } from './conversation.ts'

const fields: Field[] = [
  { ...textField('prompt'), inPath: true, rest: true },
  ...['model', 'agent', 'chat'].map(textField),
  { ...textField('continue'), kind: 'switch' },
  { ...textField('file'), kind: 'list', verbatim: true },
]

export interface TalkOptions {
  prompt?: string
  model?: string
  agent?: string
  chat?: string
  continue?: boolean
  file?: string[]
}

const letters: Readonly<Record<string, string>> = {
  '-m': '--model',
  '-a': '--agent',
  '-c': '--continue',
  '-f': '--file',
}

/** Expands the short options of `uk ask` and `uk chat`; words after `--` are text. */
export const inFull = (words: readonly string[]): string[] => {
  const end = words.includes('--') ? words.indexOf('--') : words.length
  return words.map((word, i) => (i < end ? (letters[word] ?? word) : word))
}

/** `uk ask <prompt>`: streams the answer. Piped input goes before the question. */
export async function ask(words: readonly string[], terminal: Terminal): Promise<number> {
  const { input, globals } = await parseArguments(inFull(words), fields, readText)
  const { prompt = '', model, agent, chat, continue: isContinued, file = [] } = input as TalkOptions
  const before = (await piped(prompt !== '' || file.length > 0, terminal)).trimEnd()
  const text = [before, prompt].filter((part) => part.trim() !== '').join('\n\n')
  const message = text === '' && file.length === 0 ? await question(globals['no-input'] === true, terminal) : text
  const talk = await converse(
    { ...(chat && { chat }), ...(isContinued && { isContinued }), ...(agent && { agent }), ...(model && { model }) },
    globals,
    terminal,
  )
  if (globals.json || globals.query !== undefined || globals.jq !== undefined) {
    const { printWhole } = await import('../../output/whole.ts')
    return printWhole(await talk.send(message, file, 'send'), globals, terminal)
  }
  const response = await talk.send(message, file, 'stream')
  using run = followRun('chats.stream', { id: talk.chatId() }, terminal)
  const code = await printStream({ response, globals, terminal, run, decide: decider(talk.call, globals, terminal) })
  if (code === codeOf('ok') && terminal.interactive && terminal.canAsk)
    terminal.err(terminal.style('dim', 'Continue with: uk ask -c'))
  return code
}

async function question(never: boolean, terminal: Terminal): Promise<string> {
  if (never || !terminal.canAsk) throw new Stop('usage', 'Missing question.', "Example: uk ask 'What is a monad?'")
  const { ask: askLine } = await import('../../input/prompt.ts')
  const text = await askLine('Ask', '<prompt>', {}, terminal)
  if (text === '') throw new Stop('usage', 'Missing question.', "Example: uk ask 'What is a monad?'")
  return text
}
