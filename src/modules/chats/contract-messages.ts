import { z } from 'zod'
import { base, id, idOut, mediaSource, usd, words } from '#core/contract.ts'
import { usageSchema } from '#core/usage.ts'

const text = words(1_000_000)
const TextPart = z.strictObject({ type: z.literal('text'), text })
const givenSource = z.discriminatedUnion('kind', [
  ...mediaSource.options,
  z.strictObject({
    kind: z.literal('file'),
    file_id: id.describe(
      'A drive file the caller can read. Files in another workspace are copied to the chat’s workspace.',
    ),
  }),
])
const source = z.discriminatedUnion('kind', [
  ...mediaSource.options,
  z.object({
    kind: z.literal('file'),
    file_id: idOut,
    name: z.string(),
    media_type: z.string(),
    size_bytes: z.number().int(),
    sha256: z.string().describe('The checksum of the file when the message was sent. Models see that version.'),
  }),
])
const fileName = z.string().max(255).nullable().default(null)
const ImagePart = z.strictObject({ type: z.literal('image'), source: givenSource })
const FilePart = z.strictObject({ type: z.literal('file'), source: givenSource, name: fileName })
const GivenPart = z.discriminatedUnion('type', [TextPart, ImagePart, FilePart])
export const Part = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({ type: z.literal('image'), source }),
    z.object({ type: z.literal('file'), source, name: z.string().nullable() }),
    z.object({
      type: z.literal('reasoning'),
      text: z.string(),
      opaque: z.record(z.string(), z.string()).nullable().describe('Opaque data the provider expects back unchanged.'),
    }),
    z.object({
      type: z.literal('tool_call'),
      id: z.string(),
      name: z.string(),
      arguments: z.string().describe('The arguments as JSON text, as written by the model.'),
    }),
    z.object({ type: z.literal('tool_result'), tool_call_id: z.string(), output: z.unknown(), is_error: z.boolean() }),
    z.object({ type: z.literal('compaction'), summary: z.string(), until_message_id: idOut.nullable() }),
  ])
  .meta({ id: 'MessagePart' })

export const GivenContent = z
  .union([text.transform((text) => [{ type: 'text' as const, text }]), z.array(GivenPart).max(100)])
  .refine((parts) => parts.some((part) => part.type !== 'text' || part.text.trim() !== ''), 'must not be empty')
  .describe('Text, or a list of parts: text, image or file. Media is given by URL, by its bytes, or as a drive file.')

export const model = z.string().min(1).max(200).describe('A model listed by `GET /models`, such as `openai/gpt-5`.')

export const Message = z
  .object({
    ...base,
    chat_id: idOut,
    parent_id: idOut.nullable().describe('The previous message. Messages with the same parent are branches.'),
    run_id: idOut.nullable().describe('The run this message started, or the run that wrote it.'),
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    status: z
      .enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed'])
      .describe('`incomplete`: the run was stopped. What it had written is kept.'),
    content: z.array(Part),
    text: z.string().describe('The text parts of the content, joined.'),
    model: z.string().nullable(),
    provider: z.string().nullable(),
    finish_reason: z.string().nullable(),
    usage: usageSchema.nullable(),
    cost_usd: usd.nullable().describe('Null until the cost is known, and for models without a price.'),
    seq: z.number().int().describe('The position in the chat in order of creation, across all branches.'),
    created_by: idOut.nullable(),
  })
  .meta({ id: 'Message' })
