import { ApiError } from '#interfaces/client.ts'
import { pause, waitBefore } from '../../again.ts'
import { queryClient, uk } from '../../api.ts'
import { type Listener, listen } from '../../stream.ts'
import type { Chat, Message, Run, RunEvent } from '../queries.ts'
import { type Choice, Choices } from './choices.ts'
import { type Live, isUnfinished, nothingYet, tell } from './live.ts'
import type { Messages } from './tree.ts'

export type Draft = Parameters<typeof uk.chats.stream>[0]

export interface ThreadState {
  chat: Chat | null
  messages: Messages | null
  runs: readonly Run[]
  live: Live
  /** The sent message that the server hasn't confirmed yet. */
  sending: Draft | null
  earlier: 'none' | 'more' | 'coming'
  /** The connection state; `lost`: no changes arrive at the moment. */
  line: 'open' | 'lost'
  error: unknown
}

const PAGE = 50
/** The page limit for restoring the shown messages; beyond it, the thread starts over. */
const MAX_PAGES = 20
const HIDDEN_MS = 50

/**
 * The live state of a chat: messages of all branches (newest first, older ones on demand), the active run word by word,
 * and changes by others. It survives connection losses by resuming from the last event.
 */
export class Thread {
  readonly id: string
  #state: ThreadState = {
    chat: null,
    messages: null,
    runs: [],
    live: nothingYet,
    sending: null,
    earlier: 'none',
    line: 'open',
    error: null,
  }
  readonly #choices: Choices
  readonly #listeners = new Set<() => void>()
  #life: AbortController | null = null
  #cursor: string | null = null
  #refreshing: Promise<void> | null = null
  #again = false
  #followed: string | null = null
  #waiting: RunEvent[] = []
  /** The next events replay the run from its start; the previous state is shown until then. */
  #anew = false
  #drawing = false

  constructor(id: string) {
    this.id = id
    this.#choices = new Choices(id)
  }

  readonly state = (): ThreadState => this.#state

  /** Lives while there are subscribers. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#life === null) this.#start()
    return () => {
      this.#listeners.delete(listener)
      // Stops after a turn: a page that remounts subscribes again within the same turn.
      setTimeout(() => {
        if (this.#listeners.size > 0) return
        this.#life?.abort()
        this.#life = null
        this.#followed = null
      })
    }
  }

  #set(change: Partial<ThreadState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }

  #start(): void {
    this.#life = new AbortController()
    void this.refresh()
    const leave = listen([`chat:${this.id}`], this.#hear)
    this.#life.signal.addEventListener('abort', leave)
  }

  /** Refetches the newest messages; concurrent calls share one refetch. */
  refresh(): Promise<void> {
    if (this.#refreshing !== null) {
      this.#again = true
      return this.#refreshing
    }
    return (this.#refreshing = this.#read().finally(() => {
      this.#refreshing = null
      if (!this.#again) return
      this.#again = false
      void this.refresh()
    }))
  }

  async #read(): Promise<void> {
    const signal = this.#life?.signal
    const more = signal ? { signal } : {}
    try {
      const pageFrom = (cursor: string | null) =>
        uk.chats.messages(
          { id: this.id, branch: 'all', order: 'desc', limit: PAGE, ...(cursor !== null && { cursor }) },
          more,
        )
      const [chat, runs, newest] = await Promise.all([
        uk.chats.get({ id: this.id }, more),
        uk.chats.runs({ id: this.id, limit: 20 }, more),
        pageFrom(null),
      ])
      const current = this.#state.messages
      const added = new Map<string, Message>()
      const head = chat.head_message_id
      const hasHead = (): boolean => head === null || added.has(head) || current?.has(head) === true
      let page = newest
      for (let read = 1; ; read++) {
        for (const row of page.rows) added.set(row.id, row)
        const met =
          current === null ||
          current.size === 0 ||
          page.rows.some(({ id, status }) => current.has(id) && status !== 'in_progress')
        // The active branch may be far from the newest messages.
        if (page.next === null || (met && hasHead()) || read === MAX_PAGES) break
        page = await pageFrom(page.next)
      }
      // A message created between the two responses is among the newest.
      if (!hasHead()) for (const row of (await pageFrom(null)).rows) added.set(row.id, row)
      // Earlier messages may have loaded meanwhile.
      const grown = new Map([...(this.#state.messages ?? []), ...added])
      const unfinished = runs.rows.filter(isUnfinished).toReversed()
      const ended = runs.rows.find((run) => !isUnfinished(run))
      if (current === null) this.#cursor = page.next
      this.#set({
        chat: this.#choices.shownOf(chat),
        messages: grown,
        runs: [...unfinished, ...(ended ? [ended] : [])],
        earlier: this.#cursor === null ? 'none' : 'more',
        error: null,
        // The stored row replaces the sent message.
        ...(this.#state.sending !== null && this.#state.live.run !== null && { sending: null }),
      })
      const first = unfinished.find(({ status }) => status !== 'queued') ?? unfinished[0]
      if (first && this.#followed === null) void this.#follow(first.id)
    } catch (error) {
      if (signal?.aborted) return
      if (this.#state.messages === null || (error instanceof ApiError && error.status < 500)) this.#set({ error })
      else this.#set({ line: 'lost' })
    }
  }

  async showEarlier(): Promise<void> {
    if (this.#state.earlier !== 'more' || this.#cursor === null) return
    this.#set({ earlier: 'coming' })
    try {
      const { rows, next } = await uk.chats.messages({
        id: this.id,
        branch: 'all',
        order: 'desc',
        limit: 100,
        cursor: this.#cursor,
      })
      this.#cursor = next
      const messages = new Map([...rows.map((row) => [row.id, row] as const), ...this.#state.messages!])
      this.#set({ messages, earlier: next === null ? 'none' : 'more' })
    } catch {
      this.#set({ earlier: 'more', line: 'lost' })
    }
  }

  /** Follows changes by others, and by this person in other windows. */
  readonly #hear: Listener = (heard) => {
    if (heard.event === 'lost') return this.#set({ line: 'lost' })
    if (this.#state.line === 'lost') this.#set({ line: 'open' })
    // Includes changes between the first read and now.
    void this.refresh()
    if (heard.event !== 'change' || heard.change.type.startsWith('goal.'))
      void queryClient.invalidateQueries({ queryKey: ['goal', this.id] })
  }

  /** Follows a run to its last event, over as many connections as needed. */
  async #follow(runId: string): Promise<void> {
    const signal = this.#life?.signal
    if (!signal) return
    this.#followed = runId
    if (this.#state.live.run?.id !== runId) this.#forget()
    else {
      // A crashed server may have sent more than it logged, so the log is read from the start.
      this.#waiting = []
      this.#anew = true
    }
    let failed = 0
    while (!signal.aborted) {
      try {
        const more = { signal }
        const seq = this.#anew ? 0 : this.#state.live.seq
        await this.#take(await uk.chats.events({ id: this.id, run_id: runId, last_event_id: seq }, more))
        const { run } = this.#state.live
        if (run !== null && !isUnfinished(run)) break
        failed = 0
        if (this.#state.line === 'lost') this.#set({ line: 'open' })
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof ApiError && error.status < 500 && error.status !== 429) {
          this.#forget()
          break
        }
        this.#set({ line: 'lost' })
        failed++
      }
      await pause(waitBefore(failed), signal)
    }
    this.#followed = null
    await this.refresh()
  }

  #forget(): void {
    this.#waiting = []
    this.#anew = false
    this.#set({ live: nothingYet })
  }

  async #take(events: AsyncIterable<RunEvent>): Promise<void> {
    for await (const event of events) {
      this.#waiting.push(event)
      if (this.#drawing) continue
      this.#drawing = true
      // Renders once per frame. Hidden pages have no frames.
      if (document.visibilityState === 'visible') requestAnimationFrame(this.#draw)
      else setTimeout(this.#draw, HIDDEN_MS)
    }
    this.#draw()
  }

  readonly #draw = (): void => {
    this.#drawing = false
    if (this.#waiting.length === 0) return
    const events = this.#waiting
    this.#waiting = []
    const before = this.#anew ? nothingYet : this.#state.live
    this.#anew = false
    this.#set({ live: tell(before, events) })
    if (events.some(({ event }) => event === 'run.requires_action' || event === 'run.started')) void this.refresh()
  }

  async send(given: Draft): Promise<void> {
    const signal = this.#life?.signal
    this.#set({ sending: given })
    try {
      const draft = { ...(await this.#choices.forMessage()), ...given }
      const behind = this.#followed !== null
      // A message behind an unfinished run waits, and is followed by then.
      if (behind) {
        await uk.chats.send({ ...draft, background: true })
        await this.refresh()
        return this.#set({ sending: null })
      }
      // The run needs exactly one follower: a second one would skip events that the first has yet to apply.
      this.#followed = ''
      const events = await uk.chats.stream(draft, signal ? { signal } : {}).catch((error: unknown) => {
        this.#followed = null
        // The connection may have broken after the message was accepted.
        void this.refresh()
        throw error
      })
      this.#forget()
      try {
        await this.#take(events)
      } catch {
        // The run continues on the server; its events fill the gap.
      }
      const { run } = this.#state.live
      this.#followed = null
      if (run !== null && isUnfinished(run) && !signal?.aborted) void this.#follow(run.id)
      else await this.refresh()
    } finally {
      if (this.#state.sending === given) this.#set({ sending: null })
    }
  }

  /** Retries a failed run with the model currently shown. */
  async retry(runId: string): Promise<void> {
    const model = (await this.#choices.forMessage()).model ?? this.#state.chat?.model
    await uk.chats.retry({ id: this.id, run_id: runId, background: true, ...(model != null && { model }) })
    await this.refresh()
  }

  stop = async (runId?: string): Promise<void> => {
    await uk.chats.stop({ id: this.id, ...(runId !== undefined && { run_id: runId }) })
    await this.refresh()
  }

  async decide(runId: string, actions: { id: string; decision: 'allow' | 'deny'; remember?: 'chat' }[]): Promise<void> {
    await uk.chats.actions({ id: this.id, run_id: runId, actions })
    if (actions.some(({ remember }) => remember)) void queryClient.invalidateQueries({ queryKey: ['chats', this.id] })
    await this.refresh()
  }

  /** Activates another branch, by its last message. */
  show = (leaf: string): Promise<void> => this.choose({ head_message_id: leaf })

  /** Changes a setting optimistically; reverted if the server rejects it. */
  async choose(choice: Choice): Promise<void> {
    const { chat } = this.#state
    if (chat) this.#set({ chat: { ...chat, ...choice } })
    try {
      const changed = await this.#choices.choose(choice)
      if (changed) this.#set({ chat: changed })
    } catch (error) {
      void this.refresh()
      throw error
    }
  }
}
