import { contracts } from '#modules/contracts.ts'
import type { SendCall } from '../../../client.ts'
import { Stop, codeOf } from '../../exit.ts'
import { explain } from '../../failure.ts'
import type { Globals } from '../../globals.ts'
import { parseArguments } from '../../input/arguments.ts'
import { textField } from '../../input/fields.ts'
import { readText } from '../../input/input.ts'
import { type Decide, decider } from '../../output/decide.ts'
import { type Pair, columns } from '../../output/layout.ts'
import { printStream } from '../../output/stream.ts'
import { type Terminal, clean } from '../../terminal.ts'
import { type TalkOptions, inFull } from './ask.ts'
import { type Conversation, converse } from './conversation.ts'
import { type Editor, openEditor } from './editor.ts'

const fields = [
  { ...textField('chat'), inPath: true, rest: true as const },
  ...['model', 'agent'].map(textField),
  { ...textField('continue'), kind: 'switch' as const },
]

/** `uk chat [chat]`: an interactive chat. */
export async function chat(words: readonly string[], terminal: Terminal): Promise<number> {
  const { input, globals } = await parseArguments(inFull(words), fields, readText)
  const { chat: chatName, model, agent, continue: isContinued } = input as TalkOptions
  if (!terminal.interactive || !terminal.canAsk)
    throw new Stop(
      'usage',
      '`uk chat` needs a terminal.',
      'In a pipe, use `uk ask`, or `uk ask -c` to continue the last chat.',
    )
  const talk = await converse(
    {
      ...(chatName && { chat: chatName }),
      ...(isContinued && { isContinued }),
      ...(agent && { agent }),
      ...(model && { model }),
    },
    globals,
    terminal,
  )
  await tellLast(talk, terminal)
  terminal.err(
    terminal.style(
      'dim',
      'Type /help for commands. For a new line, press Ctrl-J or Alt-Enter, or end the line with \\.',
    ),
  )
  await using editor = await openEditor(terminal)
  const decide = decider(talk.call, globals, terminal, (question) => editor.answer(question))
  const table: Table = { talk, files: [], editor, decide, globals, terminal }
  for (;;) {
    const text = await editor.message()
    if (text === null) break
    if (/^\/\S/.test(text)) {
      if ((await command(text.trim(), table)) === 'leave') break
    } else if (text.trim() !== '' || table.files.length > 0) await say(text, table)
  }
  if (talk.chatId() !== undefined) terminal.err(terminal.style('dim', 'Continue with: uk chat -c'))
  return codeOf('ok')
}

interface Table {
  talk: Conversation
  /** Attached to the next message. */
  files: string[]
  editor: Editor
  decide: Decide
  globals: Globals
  terminal: Terminal
}

/** Sends a message and prints the answer. Ctrl-C stops the run; a second Ctrl-C detaches from it. */
async function say(text: string, { talk, files, editor, decide, globals, terminal }: Table): Promise<void> {
  const leaving = new AbortController()
  let stopping = false
  editor.interrupts = () => {
    if (stopping) return leaving.abort()
    stopping = true
    terminal.err(terminal.style('dim', '\nStopping …'))
    talk.stop().catch((error: unknown) => void printError(error, terminal))
  }
  try {
    const response = await talk.send(text, files, 'stream', { signal: leaving.signal })
    files.length = 0
    await printStream({
      response,
      globals,
      terminal,
      decide: async (run) => {
        const back = editor.interrupts
        editor.interrupts = null
        const decided = await decide(run)
        editor.interrupts = back
        return decided
      },
    })
  } catch (error) {
    if (leaving.signal.aborted) terminal.err('\nThe run continues in the background.')
    else printError(error, terminal)
  } finally {
    editor.interrupts = null
  }
}

const printError = (error: unknown, terminal: Terminal): number =>
  explain(error, { terminal, json: false, words: ['chat'], special: undefined })

const commands: readonly Pair[] = [
  ['/file <path>', 'Attach a file to the next message: a path, a URL, or the ID of a drive file.'],
  ['/model [model]', 'Switch the model, or list the models.'],
  ['/new', 'Start a new chat.'],
  ['/open', 'Open this chat in the app.'],
  ['/exit', 'Quit. Ctrl-D does the same.'],
  ['Ctrl-C', 'Stop the answer, or clear the line.'],
]

async function command(text: string, table: Table): Promise<'leave' | 'stay'> {
  const { talk, files, terminal } = table
  const [word = '', ...rest] = text.split(/\s+/)
  const value = rest.join(' ')
  try {
    switch (word) {
      case '/exit':
      case '/quit':
        return 'leave'
      case '/help':
        terminal.err(columns(commands, terminal).trimEnd())
        break
      case '/file':
        if (value === '') throw new Stop('usage', 'Which file?', '/file notes.md')
        await (await import('./attach.ts')).checkThere(value)
        files.push(value)
        terminal.err(`${value} will be sent with the next message.`)
        break
      case '/model':
        if (value === '') await tellModels(talk.call, terminal)
        else {
          talk.model(value)
          terminal.err(`Switched to ${value}.`)
        }
        break
      case '/new':
        talk.begin()
        terminal.err('The next message starts a new chat.')
        break
      case '/open':
        await (
          await import('../open.ts')
        ).openInApp(talk.chatId() === undefined ? '/' : `/chats/${talk.chatId()}`, table.globals, terminal)
        break
      default:
        throw new Stop(
          'usage',
          `Unknown command ${clean(word)}.`,
          'Type /help for commands. To send a message that starts with a slash, put a space before it.',
        )
    }
  } catch (error) {
    printError(error, terminal)
  }
  return 'stay'
}

async function tellModels(call: SendCall, terminal: Terminal): Promise<void> {
  const { endpoints } = await contracts.models()
  const answer = await call(endpoints.list, { limit: 100 })
  const { data } = JSON.parse(await answer.text()) as { data: { slug: string }[] }
  terminal.err(clean(data.map(({ slug }) => slug).join('\n')))
}

async function tellLast(talk: Conversation, terminal: Terminal): Promise<void> {
  const id = talk.chatId()
  if (id === undefined) return
  const { endpoints } = await contracts.chats()
  const read = async (answer: ReturnType<SendCall>) => JSON.parse(await (await answer).text()) as { data: unknown }
  const { data: about } = (await read(talk.call(endpoints.get, { id }))) as { data: { title: string } }
  const { data: last } = (await read(talk.call(endpoints.messages, { id, order: 'desc', limit: 2 }))) as {
    data: { role: string; text: string }[]
  }
  terminal.err(terminal.style('bold', clean(about.title)))
  for (const { role, text } of last.toReversed())
    if (text !== '') terminal.err(terminal.style('dim', clean(role === 'user' ? `› ${text}` : text)))
}
