import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { contracts } from '#modules/contracts.ts'
import { newId } from '#core/ids.ts'
import { newWebhookSecret, signWebhook } from '#core/text/standard-webhooks.ts'
import { ApiError } from '../../client.ts'
import { readEvents } from '../../sse.ts'
import { Stop } from '../exit.ts'
import { parseArguments } from '../input/arguments.ts'
import { textField } from '../input/fields.ts'
import { readText } from '../input/input.ts'
import { type Caller, callerOf } from '../server/caller.ts'
import { loginFile } from '../server/credentials.ts'
import { personal } from '../server/personal.ts'
import { Unreachable, send } from '../server/send.ts'
import { workspaceOf } from '../server/workspace.ts'
import { type Terminal, clean } from '../terminal.ts'

const fields = [
  textField('forward'),
  { ...textField('events'), kind: 'list' as const, verbatim: true as const },
  { ...textField('secret'), secret: true },
]
const MAX_PAUSE_MS = 10_000

interface Change {
  type: string
  resource: { type: string; id: string } | null
  data: unknown
  at: string
}

/**
 * `uk listen`: prints a workspace's webhook events and, with `--forward`, sends them to a local URL with the body and
 * signature of a real delivery. Creates nothing on the server and never sends an event twice.
 */
export async function listen(words: readonly string[], terminal: Terminal): Promise<number> {
  const { input, globals } = await parseArguments(words, fields, readText)
  const {
    forward,
    events = ['*'],
    secret: providedSecret,
  } = input as { forward?: string; events?: string[]; secret?: string }
  if (forward !== undefined && !(URL.canParse(forward) && /^https?:$/.test(new URL(forward).protocol)))
    throw new Stop('usage', `"${forward}" isn't a URL.`, 'Example: uk listen --forward http://localhost:3000/hook')
  if (providedSecret !== undefined && !/^whsec_[A-Za-z0-9+/]+=*$/.test(providedSecret))
    throw new Stop('usage', '--secret must be a webhook secret, which starts with whsec_.')
  const caller = await callerOf(globals, terminal)
  const workspace = (await workspaceOf(globals, caller, terminal))?.id ?? (await personal(caller.call))
  await checkEvents(events, caller)
  const secret = providedSecret ?? (await ownSecret(terminal))
  if (forward !== undefined && providedSecret === undefined)
    terminal.err(`Signing with ${secret} (this machine's secret).`)
  let at: string | undefined
  let pause = 0
  for (;;) {
    try {
      const { endpoints } = await contracts.realtime()
      const answer = await caller.call(
        endpoints.subscribe,
        { channels: [`workspace:${workspace}`] },
        at === undefined ? {} : { lastEventId: at },
      )
      for await (const { id, event, data } of readEvents(answer.bytes())) {
        at = id ?? at
        pause = 0
        if (event === 'subscribed')
          terminal.err(`Listening for ${events.join(', ')} in workspace ${workspace}. Press Ctrl-C to stop.`)
        if (event === 'reset') terminal.err('Some events were missed while the connection was down.')
        if (event === 'revoked') throw new Stop('auth', 'You no longer have access to this workspace.')
        if (event !== 'change' || !matches(events, (data as Change).type)) continue
        await pass(data as Change, workspace, { forward, secret, json: globals.json === true, terminal })
      }
    } catch (error) {
      if (!(error instanceof Unreachable) && !(error instanceof ApiError && error.status >= 500)) throw error
      if (pause === 0) terminal.err('Connection lost. Reconnecting …')
    }
    pause = Math.min(MAX_PAUSE_MS, pause * 2 + 500)
    await sleep(pause)
  }
}

/** Event patterns of webhook endpoints: `run.failed`, `chat.*` or `*`. */
const matches = (patterns: readonly string[], type: string): boolean =>
  patterns.some((one) => one === '*' || one === type || (one.endsWith('.*') && type.startsWith(one.slice(0, -1))))

async function checkEvents(patterns: readonly string[], { call }: Caller): Promise<void> {
  const { endpoints } = await contracts.webhooks()
  const types: string[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const text = await (await call(endpoints.event_types, { limit: 100, cursor })).text()
    const { data, pagination } = JSON.parse(text) as {
      data: { type: string }[]
      pagination: { next_cursor: string | null }
    }
    types.push(...data.map(({ type }) => type))
    cursor = pagination.next_cursor
  }
  const wrong = patterns.find((pattern) => !types.some((type) => matches([pattern], type)))
  if (wrong === undefined) return
  const { didYouMean, nearWords } = await import('../near.ts')
  const near = nearWords(wrong, types)
  throw new Stop(
    'usage',
    `Unknown event "${wrong}".`,
    didYouMean(near) ?? 'Run `uk webhooks event-types` for the list.',
  )
}

interface Passing {
  forward: string | undefined
  secret: string
  json: boolean
  terminal: Terminal
}

async function pass(
  { type, resource, data, at }: Change,
  workspace_id: string,
  { forward, secret, json, terminal }: Passing,
): Promise<void> {
  const id = newId()
  // Fields in the order of a real delivery.
  const body = JSON.stringify({ type, timestamp: at, id, workspace_id, resource, data })
  if (json || (forward === undefined && !terminal.interactive)) await terminal.out(`${body}\n`)
  const line = clean(`${at.slice(11, 19)}  ${type}${resource === null ? '' : `  ${resource.id}`}`)
  if (forward === undefined) {
    if (terminal.interactive && !json) await terminal.out(`${line}\n`)
    return
  }
  const startedAt = performance.now()
  const what = await send({
    method: 'POST',
    url: forward,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Ukiyo-Webhooks',
      ...signWebhook([secret], { id, at: new Date(), body }),
    },
    body,
    signal: AbortSignal.timeout(15_000),
  }).then(
    async (answer) => {
      await answer.text()
      return `${answer.status}  ${Math.round(performance.now() - startedAt)} ms`
    },
    (error: Error) => `not delivered: ${error.message}`,
  )
  terminal.err(`${line}  → ${what}`)
}

/** This machine's secret, created once, so a program under test can keep it in its settings. */
async function ownSecret(terminal: Terminal): Promise<string> {
  const file = join(dirname(loginFile(terminal)), 'listen-secret')
  const existing = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (existing.startsWith('whsec_')) return existing
  const secret = newWebhookSecret()
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(file, `${secret}\n`, { mode: 0o600 })
  return secret
}
