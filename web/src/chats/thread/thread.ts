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
  /** The messages; null: not asked for yet. */
  messages: Messages | null
  /** The runs that are not finished, in their order, and the newest that is. */
  runs: readonly Run[]
  live: Live
  /** The message that this person has sent and the server has not yet shown. */
  sending: Draft | null
  earlier: 'none' | 'more' | 'coming'
  /** The state of the line; `lost`: changes do not come for the moment. */
  line: 'open' | 'lost'
  /** The reason for which the chat cannot be shown. */
  error: unknown
}

const PAGE = 50
/** The most pages that are read to reach what was shown before; beyond that the thread is shown anew. */
const MOST_PAGES = 20
const HIDDEN_MS = 50

/**
 * One chat as it is now: its messages of all branches (the newest first, older ones when asked for), the run that goes
 * on, word by word, and what others do in it meanwhile. It outlives lost connections: it reads on from the last event.
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
  /** Whether the next events tell a run from its beginning; the former state is shown until they come. */
  #anew = false
  #drawing = false

  constructor(id: string) {
    this.id = id
    this.#choices = new Choices(id)
  }

  readonly state = (): ThreadState => this.#state

  /** Lives as long as somebody listens. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#life === null) this.#start()
    return () => {
      this.#listeners.delete(listener)
      // The end waits a turn: a page that is drawn anew comes back within the same turn.
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

  /** Reads the newest messages again; several wishes at once are one more reading. */
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
      const known = this.#state.messages
      const found = new Map<string, Message>()
      const head = chat.head_message_id
      const hasHead = (): boolean => head === null || found.has(head) || known?.has(head) === true
      let page = newest
      for (let read = 1; ; read++) {
        for (const row of page.rows) found.set(row.id, row)
        const met =
          known === null ||
          known.size === 0 ||
          page.rows.some(({ id, status }) => known.has(id) && status !== 'in_progress')
        // The active branch may be an old one, far from the newest messages.
        if (page.next === null || (met && hasHead()) || read === MOST_PAGES) break
        page = await pageFrom(page.next)
      }
      // A message that came between the two answers is among the newest.
      if (!hasHead()) for (const row of (await pageFrom(null)).rows) found.set(row.id, row)
      // Earlier ones may have come meanwhile.
      const grown = new Map([...(this.#state.messages ?? []), ...found])
      const unfinished = runs.rows.filter(isUnfinished).toReversed()
      const ended = runs.rows.find((run) => !isUnfinished(run))
      if (known === null) this.#cursor = page.next
      this.#set({
        chat: this.#choices.shownOf(chat),
        messages: grown,
        runs: [...unfinished, ...(ended ? [ended] : [])],
        earlier: this.#cursor === null ? 'none' : 'more',
        error: null,
        // Its row shows the message that was sent.
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

  /** Changes that others make, and those of this person elsewhere. */
  readonly #hear: Listener = (heard) => {
    if (heard.event === 'lost') return this.#set({ line: 'lost' })
    if (this.#state.line === 'lost') this.#set({ line: 'open' })
    // Changes between the first reading and now are read, too.
    void this.refresh()
    if (heard.event !== 'change' || heard.change.type.startsWith('goal.'))
      void queryClient.invalidateQueries({ queryKey: ['goal', this.id] })
  }

  /** Reads a run from its first event to its last, over as many connections as it takes. */
  async #follow(runId: string): Promise<void> {
    const signal = this.#life?.signal
    if (!signal) return
    this.#followed = runId
    if (this.#state.live.run?.id !== runId) this.#forget()
    else {
      // A server that died may have said more than its log tells: so the log is read whole.
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
      // One drawing per frame, however many words came; a hidden page has no frames.
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

  /** Sends a message and follows its answer. Rejects where it was refused: then nothing of it was kept. */
  async send(given: Draft): Promise<void> {
    const signal = this.#life?.signal
    this.#set({ sending: given })
    try {
      const draft = { ...(await this.#choices.forMessage()), ...given }
      const behind = this.#followed !== null
      // A message behind an unfinished run waits for its turn, and is followed by then.
      if (behind) {
        await uk.chats.send({ ...draft, background: true })
        await this.refresh()
        return this.#set({ sending: null })
      }
      // The run has one follower from now on: a second would tell events that hide those which the first has yet to
      // tell.
      this.#followed = ''
      const events = await uk.chats.stream(draft, signal ? { signal } : {}).catch((error: unknown) => {
        this.#followed = null
        // The connection may have broken behind it, and its run go on.
        void this.refresh()
        throw error
      })
      this.#forget()
      try {
        await this.#take(events)
      } catch {
        // The run goes on at the server; its events tell what is missing.
      }
      const { run } = this.#state.live
      this.#followed = null
      if (run !== null && isUnfinished(run) && !signal?.aborted) void this.#follow(run.id)
      else await this.refresh()
    } finally {
      if (this.#state.sending === given) this.#set({ sending: null })
    }
  }

  /** Starts another attempt of a failed run, by the model that is shown now. */
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

  /** Makes another branch the active one, by its end. */
  show = (leaf: string): Promise<void> => this.choose({ head_message_id: leaf })

  /** Changes what answers next. It is shown at once, and undone if the server refuses it. */
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
