// The store behind Anthropic's POST /v1/messages, per API key: message threads, files, containers, skills.
//
// Sources: @anthropic-ai/sdk 1.11.0 (types of `thread`, lib/internal/threads/ThreadState.ts, core/error-classes.ts);
// platform.claude.com/docs/en/build-with-claude/message-threads: a thread lives 5 minutes from its last request, keeps
// the `system` and `tools` of its first one, continues from the last answer only, and may be lost at any time before
// the next `continue`, which gets 404 `thread_not_found`; clients' sources for `thread_fingerprint_mismatch`
// ("differing field(s)") when `output_config` changes.
//
// Unknown, so not played or only guessed:
// - the words of all of these; which fields besides `output_config` must stay the same (no others here); which requests
//   are `thread_unsupported_request` (none here, unless scripted); two continuations at once
//   (`thread_continue_in_flight`, not played); whether a refused continuation uses up its answer (not here)
// - whether count_tokens accepts `thread` (not read there); what a model reads from a file or a container (all of its
//   text)
// - status and words of missing files, containers, and skills (404 here; an old container once gave 500)
import type { Name } from '../shelf.ts'
import { referencesIn, Shelf } from '../shelf.ts'
import type { Json, StoredObject } from '../vendor.ts'

export const THREADS_BETA = 'message-threads-2026-08-12'
const LIFE_MS = 5 * 60_000

type Thread = { key: string; body: Json; messages: Json[]; continued: boolean; at: number }
export type StoreError = { status: number; message: string; code?: string }

/** Names in data of the model, of its tools, or of a citation mean nothing here. */
const data = new Set(['input', 'citations', 'input_schema', 'input_examples', 'metadata'])

export class AnthropicStore {
  readonly shelf: Shelf
  readonly #threads = new Map<string, Thread>()

  constructor(key: string) {
    this.shelf = new Shelf(key, { file: 'file_011C', container: 'container_011C', skill: 'skill_01' })
  }

  /** Drops all threads, which may happen at any time. */
  forget(): void {
    this.#threads.clear()
  }

  /** The model's input: on `continue` with the conversation, `system`, and `tools` of its thread. */
  whole(key: string, body: Json): { body: Json } | StoreError {
    const name = previousOf(body)
    if (name === undefined) return { body }
    const repeatedField = ['system', 'tools'].find((field) => field in body)
    if (repeatedField !== undefined) {
      return { status: 400, message: `${repeatedField}: may not be given when \`thread.type\` is \`continue\`.` }
    }
    const thread = this.#threads.get(name)
    if (thread?.key !== key || Date.now() - thread.at > LIFE_MS)
      return { status: 404, message: `No thread state was found for ${name}.`, code: 'thread_not_found' }
    if (thread.continued) {
      const message = `The thread has already been continued from ${name}.`
      return { status: 400, message, code: 'thread_already_continued' }
    }
    if (JSON.stringify(thread.body['output_config']) !== JSON.stringify(body['output_config'])) {
      const message = 'The request does not match its thread; differing field(s): output_config'
      return { status: 400, message, code: 'thread_fingerprint_mismatch' }
    }
    const { system, tools } = thread.body
    const inherited = { ...(system === undefined ? {} : { system }), ...(tools === undefined ? {} : { tools }) }
    return { body: { ...body, ...inherited, messages: [...thread.messages, ...body['messages']] } }
  }

  /** Stores the conversation under the ID of its answer, if `thread` requests it. */
  add(key: string, ownBody: Json, whole: Json, answer: Json): void {
    if (ownBody['thread'] === undefined || ownBody['thread'] === null) return
    const before = this.#threads.get(previousOf(ownBody) ?? '')
    if (before) before.continued = true
    const assistantMessage = { role: 'assistant', content: answer['content'] }
    const messages = [...whole['messages'], assistantMessage]
    this.#threads.set(answer['id'], { key, body: whole, messages, continued: false, at: Date.now() })
  }

  /** The objects that a request makes the model read. */
  read(key: string, body: Json): { read: StoredObject[] } | StoreError {
    const lookup = this.shelf.read(key, namesIn(body))
    if (!('missing' in lookup)) return lookup
    const { kind, id } = lookup.missing
    return { status: 404, message: `${kind[0]!.toUpperCase()}${kind.slice(1)} not found: ${id}` }
  }
}

function namesIn({ container, messages }: Json): Name[] {
  const requestBlocks = messages.flatMap(({ content }: Json) => (Array.isArray(content) ? content : []))
  // Results of Anthropic's own tools are echoes of its output.
  const blocks = requestBlocks.filter(
    ({ type }: Json) => type === 'tool_result' || !String(type).endsWith('_tool_result'),
  )
  const skills = (container?.skills ?? []).filter(({ type }: Json) => type === 'custom')
  const inner = { container: container?.id ?? container, skills, messages: blocks }
  return referencesIn(inner, { container: 'container', file_id: 'file', skill_id: 'skill' }, data)
}

/** The answer that a request continues from. */
export function previousOf({ thread }: Json): string | undefined {
  return thread?.type === 'continue' ? (thread.previous_message_id as string) : undefined
}
