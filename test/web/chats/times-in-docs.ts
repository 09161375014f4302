/** Measures the chat and writes the results to docs/app.md: `sh bin/run test/web/chats/times-in-docs.ts`. */
import { availableParallelism, loadavg } from 'node:os'
import { testServer } from '../../server.ts'
import { until } from '../../until.ts'
import { openBrowser, visit } from '../browser.ts'
import { writeInDocs } from '../in-docs.ts'
import { keysMs, median, openMs, p95, seenMs, steady } from './times.ts'
import { longChat } from './long-chat.ts'
import { signIn } from '../steps.ts'

await using server = await testServer({ environment: { UK_SIM: 'on' } })
await using browser = await openBrowser()
const alice = await server.person('Alice')
await longChat(server, alice, 10_000)
const streamed = await longChat(server, alice, 9_999, 'sim/script')
await using visitor = await visit(browser, server.origin)
await using other = await visit(browser, server.origin)
const { page } = visitor
await signIn(page, alice)
await signIn(other.page, alice)

const opened: number[] = []
for (let time = 0; time < 6; time++) opened.push(await openMs(page, 'Of 10000', 'Number 10000.'))
// The first one includes loading the page.
const [cold, ...warm] = opened

await other.page.goto(`/app/chats/${streamed}`)
await other.page.getByText('Number 9999.').waitFor()
await page.goto(`/app/chats/${streamed}`)
await page.getByText('Number 9999.').waitFor()
await alice.post(`/chats/${streamed}/messages`, { content: steady(30), background: true })
await page.getByRole('log').getByText('word20').waitFor()
const keys = await keysMs(page, 'a question that is typed while the answer comes, letter by letter, at a good pace', 70)
await alice.post(`/chats/${streamed}/stop`, {})
await until(
  async () => (await alice.get(`/chats/${streamed}`)).body.data.active_run_id,
  (id) => id === null,
)

const seen: number[] = []
for (let time = 0; time < 20; time++)
  seen.push(await seenMs(other.page, alice, streamed, JSON.stringify({ steps: [{ text: `seen-${time}-here` }] })))

/** The machine's load during the measurement. */
const load = loadavg()[1]!
const ms = (value: number): string => `${Math.round(value)} ms`
const both = (values: readonly number[]): string => `${ms(median(values))}, p95 ${ms(p95(values))}`
const rows = [
  ['Open a chat with 10,000 messages, from click to last message', `${both(warm)}; first load ${ms(cold!)}`, '1 s'],
  ['Key press to glyph in the composer, while 200 words per second stream into 10,000 messages', both(keys), '32 ms'],
  ['A sent message appears for another user or in another tab', both(seen), '1 s'],
]
const date = new Date().toISOString().slice(0, 10)
const table = [
  `| Action | Median, p95 | Goal |\n|---|---|---|`,
  ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  '',
  `Headless Chromium and the server on one machine with ${availableParallelism()} cores and a load of ${load.toFixed(0)}, ${date}. Update with \`sh bin/run test/web/chats/times-in-docs.ts\`.`,
].join('\n')
writeInDocs('chat times', table)
process.stdout.write(`${table}\n${visitor.wrongs.join('\n')}\n`)
