import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type Context, implement } from '#infra/context.ts'
import { byScope, resource, session } from '#core/access.ts'
import { finder } from '#core/context.ts'
import { area, base, bytes, deleted, endpoint, none, one, operation, page, stream } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'

const Note = z.object({ ...base, text: z.string() }).meta({ id: 'Note' })
const reading = resource('note', { scope: 'drive:read' })
const writing = resource('note', { scope: 'drive:write' })
const tick = z.object({
  event: z.enum(['text.delta', 'tick']),
  data: z.object({ delta: z.string().optional(), seq: z.number() }),
})

/** An area with one endpoint of every kind of reply, which tests register: notes that live in this process's memory. */
export const notes = area(
  'notes',
  { title: 'Notes', summary: 'Notes of the tests.' },
  {
    create: endpoint('POST /notes', {
      summary: 'Write a note',
      access: byScope('drive:write'),
      body: { text: z.string().max(1_000_000) },
      reply: one(Note),
      status: 201,
    }),
    get: endpoint('GET /notes/:id', { summary: 'Read a note', access: reading, reply: one(Note) }),
    list: endpoint('GET /notes', { summary: 'List notes', access: byScope('drive:read'), reply: page(Note) }),
    delete: endpoint('DELETE /notes/:id', { summary: 'Delete a note', access: writing, reply: deleted }),
    clear: endpoint('POST /notes/clear', { summary: 'Delete all notes', access: byScope('drive:write'), reply: none }),
    text: endpoint('GET /notes/:id/text', {
      summary: 'The bytes of a note',
      access: reading,
      reply: bytes,
    }),
    picture: endpoint('GET /notes/:id/picture', {
      summary: 'A picture of a note',
      access: reading,
      reply: bytes,
    }),
    print: endpoint('POST /notes/:id/print', {
      summary: 'Print a note in the background',
      access: writing,
      reply: operation(Note),
    }),
    spell: endpoint('POST /notes/:id/spell', {
      summary: 'Spell a note letter by letter',
      access: writing,
      body: { delay_ms: z.number().int().default(0), forever: z.boolean().default(false) },
      reply: stream(tick),
    }),
    fail: endpoint('POST /notes/fail', { summary: 'Fail with a fault', access: byScope('drive:write'), reply: none }),
    burn: endpoint('POST /notes/burn', { summary: 'Only for people', access: session(), reply: none }),
  },
)

interface Row {
  id: Id
  account_id: Id
  workspace_id: null
  text: string
  created_at: Date
  updated_at: Date
}

/** `left` tells how often a spelling was ended before its end. */
export function notesService() {
  const rows = new Map<Id, Row>()
  const seen = { left: 0, spelling: Promise.withResolvers<void>() }
  const note = finder<Context, Row>('note', async (_, id) => rows.get(id) ?? null)
  const show = (row: Row) => ({
    id: row.id,
    text: row.text,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  })
  async function* spell(ctx: Context, { text }: Row, { delay_ms, forever }: { delay_ms: number; forever: boolean }) {
    let whole = false
    try {
      let seq = 0
      for (const letter of text) {
        if (delay_ms > 0) await sleep(delay_ms, undefined, { signal: ctx.signal })
        yield { id: String(seq), event: 'text.delta', data: { delta: letter, seq: seq++ } }
      }
      seen.spelling.resolve()
      if (forever) await sleep(600_000, undefined, { signal: ctx.signal })
      yield { id: String(seq), event: 'tick', data: { seq } }
      whole = true
    } finally {
      if (!whole) seen.left++
    }
  }
  const service = implement(
    notes,
    {
      create: (ctx, { text }) => {
        const at = ctx.now()
        const row = {
          id: newId(),
          account_id: ctx.principal.accountId,
          workspace_id: null,
          text,
          created_at: at,
          updated_at: at,
        }
        rows.set(row.id, row)
        return show(row)
      },
      get: (ctx) => show(note.of(ctx)),
      list: ({ principal }) => ({
        rows: [...rows.values()].filter((row) => row.account_id === principal.accountId).map(show),
        next: null,
      }),
      delete: (_, { id }) => {
        rows.delete(id)
        return { id }
      },
      clear: () => rows.clear(),
      text: (ctx) => ({ headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: note.of(ctx).text }),
      picture: () => ({
        headers: { 'content-type': 'image/png', 'content-length': '4' },
        body: Uint8Array.of(0x89, 0x50, 0x4e, 0x47),
      }),
      print: () => ({ operation: { id: newId(), status: 'queued' } }),
      spell: (ctx, input) => spell(ctx, note.of(ctx), input),
      fail: () => {
        throw new Error('a secret of the inside')
      },
      burn: () => refuse('internal_error'),
    },
    [note],
  )
  return { service, seen }
}
