import { z } from 'zod'
import { cols, ended, key, offset, rows, time } from './fields.ts'

export const Terminal = z.object({
  terminal_id: key,
  name: z.string().nullable(),
  status: z.enum(['open', 'ended', 'lost']),
  cols,
  rows,
  offset: offset.describe('The number of output bytes since it was opened.'),
  ...ended,
  created_at: time,
  ended_at: time.nullable(),
})

export const ViewerEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('input'),
    data: z.string().describe('Base64.'),
    seq: z.number().int().min(0).nullable(),
    viewer: key.optional().describe('The viewer whose count `seq` is, if it isn’t the stream’s own viewer.'),
  }),
  z.object({ type: z.literal('resize'), cols, rows }),
])
export const TerminalEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('snapshot'),
    at: offset,
    bytes: offset.describe('The number of bytes that follow on the channel `snapshot`.'),
  }),
  z.object({ type: z.literal('gap'), from: offset, to: offset }),
  z.object({ type: z.literal('resize'), cols, rows }),
  z
    .object({ type: z.literal('typed'), viewer: key, seq: z.number().int().min(0) })
    .describe('Whether input with this number was received, now or earlier.'),
  z.object({ type: z.literal('ended'), ...ended }),
])
