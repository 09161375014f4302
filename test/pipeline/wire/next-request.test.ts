import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { type Context, implement } from '#infra/context.ts'
import { byScope } from '#core/access.ts'
import { area, endpoint, none } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import { testServer } from '../../server.ts'

const LEAVES = ['at once', 'later', 'never'] as const
const ANSWERS = ['refusal', 'success'] as const
const query = { leaves: z.enum(LEAVES), answers: z.enum(ANSWERS) }
interface NextRequest {
  leaves: (typeof LEAVES)[number]
  answers: (typeof ANSWERS)[number]
}
const contract = area(
  'halves',
  { title: 'Halves', summary: 'Uploads of the tests that nobody reads to their end.' },
  {
    raw: endpoint('PUT /halves', {
      summary: 'Take some',
      access: byScope('user:read'),
      takes: 'bytes',
      query,
      reply: none,
    }),
    form: endpoint('POST /halves', {
      summary: 'Take some',
      access: byScope('user:read'),
      takes: 'multipart',
      query,
      reply: none,
    }),
  },
)

/** Reads the first chunk, answers, and drops the rest as requested. */
async function takeSome({ upload }: Context, { leaves, answers }: NextRequest): Promise<void> {
  const parts = upload!.bytes[Symbol.asyncIterator]()
  await parts.next()
  if (leaves === 'at once') await parts.return?.()
  if (leaves === 'later') setTimeout(() => void parts.return?.(), 50)
  if (answers === 'refusal') refuse('storage_full')
}

const BOUNDARY = 'b0undary'
const FORM_HEAD = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`
const SIZE = 900_000

test('an upload answered early leaves its connection usable, whenever its reader stops', async () => {
  const service = implement(contract, { raw: takeSome, form: takeSome })
  await using server = await testServer({ services: [service] })
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const head = (line: string, more: string[] = []) =>
    [`${line} HTTP/1.1`, 'host: localhost', `authorization: Bearer ${key}`, ...more, '', ''].join('\r\n')
  for (const method of ['PUT', 'POST'])
    for (const leaves of LEAVES)
      for (const answers of ANSWERS) {
        const story = `${method}, left ${leaves}, ${answers}`
        const type = method === 'PUT' ? 'application/octet-stream' : `multipart/form-data; boundary=${BOUNDARY}`
        const first = Buffer.alloc(100_000, method === 'PUT' ? '' : FORM_HEAD.padEnd(100_000, 'x'))
        const socket = connect(Number(new URL(server.origin).port), '127.0.0.1')
        let output = ''
        socket.setEncoding('latin1').on('data', (text: string) => (output += text))
        const has = async (pattern: RegExp): Promise<void> => {
          for (let i = 0; !pattern.test(output); i++) {
            assert.ok(i < 500 && !socket.destroyed, `${story}: ${output.slice(0, 600)}`)
            await wait(10)
          }
        }
        const query = new URLSearchParams({ leaves, answers })
        socket.write(
          head(`${method} /v1/halves?${query.toString()}`, [`content-type: ${type}`, `content-length: ${SIZE}`]),
        )
        socket.write(first)
        await has(answers === 'refusal' ? /^HTTP\/1\.1 5\d\d / : /^HTTP\/1\.1 204 /)
        // Its reader has stopped before the rest arrives.
        if (leaves === 'later') await wait(100)
        socket.write(Buffer.alloc(SIZE - first.length))
        socket.write(head('GET /v1/me'))
        await has(/HTTP\/1\.1 200 /)
        socket.destroy()
      }
})
