import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startKeeper, type TestKeeper } from '#test/computers/keeper.ts'
import { type Seat, seatAt } from '#test/computers/seat.ts'
import { temporaryDir } from '#test/program.ts'
import { type TestServer, testServer } from '#test/server.ts'

const program = join(import.meta.dirname, '../../../../bin/uk')
const home = temporaryDir('uk-terminals-')
let server: TestServer
let keeper: TestKeeper
let key: string
before(async () => {
  server = await testServer()
  keeper = await startKeeper()
  key = (await (await server.person('Alice')).key()).key
})
after(async () => {
  await keeper?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  home[Symbol.dispose]()
})

const drawing = async (): Promise<Seat> => {
  const words = ['--model', 'sim/image', '--prompt', 'A boat', '--size', '64x48']
  const env = {
    PATH: process.env.PATH!,
    HOME: home.path,
    TERM: 'xterm-256color',
    UK_ORIGIN: server.origin,
    UK_KEY: key,
  }
  return seatAt(keeper.client, [program, 'inference', 'images', ...words], { env, cwd: home.path })
}
const question = /\[c/

test('a terminal with sixel support gets the image, and its reply to the query is not shown', async () => {
  const seat = await drawing()
  await seat.sees(question)
  await seat.type('\x1b[?62;4;22c')
  const shown = await seat.sees(/P0;1q"1;1;64;48#[^]*\x5c\r?\n/)
  assert.equal(await seat.exitCode(), 0)
  assert.ok(shown.includes('Generated/A boat'), shown)
  assert.ok(!shown.includes('62;4;22c'), shown)
})

test('a terminal that does not reply is given up after a while, and the file path still prints', async () => {
  const seat = await drawing()
  const shown = await seat.sees(question)
  assert.equal(await seat.exitCode(), 0)
  assert.ok(shown.includes('Generated/A boat'), shown)
  assert.ok(!(await seat.sees(/Generated/)).includes('P0;1q'))
})

test('Ctrl-C stops the wait for a reply', async () => {
  const seat = await drawing()
  await seat.sees(question)
  await seat.type('\x03')
  assert.notEqual(await seat.exitCode(), 0)
})
