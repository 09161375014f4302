import { contracts } from '#modules/contracts.ts'
import { ApiError, type Incoming, type More, type SendCall } from '../../../client.ts'
import { Stop } from '../../exit.ts'
import { type Caller, callerOf } from '../../server/caller.ts'
import { idOf } from '../../server/names.ts'
import { personal } from '../../server/personal.ts'
import { workspaceOf } from '../../server/workspace.ts'
import { remember, remembered } from '../../server/state.ts'
import type { Globals } from '../../globals.ts'
import type { Terminal } from '../../terminal.ts'
import { type Part, attached } from './attach.ts'

export interface Opening {
  chat?: string
  /** Continue the last chat on this machine, else the newest one. */
  isContinued?: boolean
  agent?: string
  model?: string
}

export interface Conversation {
  call: SendCall
  /** Undefined until the first message is sent. */
  chatId(): string | undefined
  model(name: string): void
  send(text: string, files: readonly string[], how: 'stream' | 'send', more?: More): Promise<Incoming>
  stop(): Promise<void>
  begin(): void
}

export async function converse(opening: Opening, globals: Globals, terminal: Terminal): Promise<Conversation> {
  const caller = await callerOf(globals, terminal)
  const { call } = caller
  const { endpoints } = await contracts.chats()
  let chat = await chatFor(opening, caller, terminal)
  if (chat !== undefined && opening.agent !== undefined)
    throw new Stop(
      'usage',
      "You can't change the agent of an existing chat.",
      'Leave out --agent, or start a new chat.',
    )
  // In an existing chat, the model applies only to messages sent from here.
  let model = opening.model
  let own = chat === undefined ? undefined : model

  const workspaceId = async (): Promise<string> => {
    if (chat !== undefined)
      return (await data<{ workspace_id: string }>(call(endpoints.get, { id: chat }))).workspace_id
    const workspace = await workspaceOf(globals, caller, terminal)
    if (workspace !== undefined) return workspace.id
    return personal(call)
  }
  return {
    call,
    chatId: () => chat,
    model(name) {
      if (chat === undefined) model = name
      else own = name
    },
    async send(text, files, how, more) {
      const parts = files.length === 0 ? [] : await attached(files, { call, workspaceId, terminal })
      const fresh = chat === undefined
      chat ??= await begin({ ...opening, ...(model !== undefined && { model }) }, caller, globals, terminal)
      const content: string | Part[] =
        parts.length === 0 ? text : [...parts, ...(text === '' ? [] : [{ type: 'text' as const, text }])]
      try {
        const answer = await call(endpoints[how], { id: chat, content, model: own }, more)
        if (fresh) await remember(caller.target, { last_chat: chat }, terminal)
        return answer
      } catch (error) {
        // No run started, for example because of a mistyped model: don't leave an empty chat.
        if (fresh && error instanceof ApiError && error.details?.run_id === undefined) {
          await discard(chat, call)
          chat = undefined
        }
        throw error
      }
    },
    async stop() {
      if (chat !== undefined) await call(endpoints.stop, { id: chat })
    },
    begin() {
      model = own ?? model
      chat = undefined
    },
  }
}

const data = async <T>(answer: Promise<Incoming>): Promise<T> =>
  (JSON.parse(await (await answer).text()) as { data: T }).data

async function chatFor(
  { chat, isContinued }: Opening,
  caller: Caller,
  terminal: Terminal,
): Promise<string | undefined> {
  if (chat !== undefined) return idOf('chat', chat, caller.call)
  if (!isContinued) return undefined
  const { last_chat } = await remembered(caller.target, terminal)
  if (last_chat !== undefined) return last_chat
  const { endpoints } = await contracts.chats()
  const [newest] = await data<{ id: string }[]>(caller.call(endpoints.list, { limit: 1 }))
  if (newest === undefined) throw new Stop('not_found', 'No chat to continue.', 'Leave out -c to start one.')
  return newest.id
}

async function begin({ agent, model }: Opening, caller: Caller, globals: Globals, terminal: Terminal): Promise<string> {
  const { endpoints } = await contracts.chats()
  const agent_id = agent === undefined ? undefined : await idOf('agent', agent, caller.call)
  const workspace = await workspaceOf(globals, caller, terminal)
  const { id } = await data<{ id: string }>(
    caller.call(endpoints.create, { agent_id, model, workspace_id: workspace?.id }),
  )
  return id
}

async function discard(id: string, call: SendCall): Promise<void> {
  const { endpoints } = await contracts.chats()
  try {
    await call(endpoints.trash, { id })
    await call(endpoints.permanent_delete, { id })
  } catch {
    // The original error matters more.
  }
}
