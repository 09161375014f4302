import { z } from 'zod'
import { inWorkspace } from '#core/access.ts'
import { endpoint, id, idOut, one, time, words, workspaceId } from '#core/contract.ts'

const theirId = z.string().min(1).max(200)

const ImportedMessage = z
  .strictObject({
    id: theirId.describe('The message’s ID in the source, unique within the chat.'),
    parent_id: theirId
      .nullable()
      .describe('The source ID of the parent message, which must come earlier in the list. Null starts the chat.'),
    role: z.enum(['system', 'user', 'assistant']),
    text: words(1_000_000).describe('The text of the message.'),
    created_at: time.optional().describe('When the message was sent. Default: the chat’s time.'),
    model: z
      .string()
      .min(1)
      .max(200)
      .nullable()
      .default(null)
      .describe('The model that wrote the message, as named in the source.'),
    files: z
      .array(id)
      .max(100)
      .default([])
      .describe('Drive files attached to the message. Files in another workspace are copied to the chat’s workspace.'),
  })
  .meta({ id: 'ImportedMessage' })

export const importEndpoints = {
  import: endpoint('POST /chats/import', {
    summary: 'Import a chat with its branches',
    description:
      'Imports start no runs and cost nothing. Within a workspace, `source` and `external_id` identify a chat. Importing an existing chat again leaves it unchanged and returns `created: false`. A permanently deleted chat is created again.',
    access: inWorkspace('chat:write'),
    body: {
      workspace_id: workspaceId,
      source: z
        .string()
        .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must contain only lowercase letters, digits and hyphens')
        .describe('The source, such as `chatgpt`.'),
      external_id: theirId.describe('The chat’s ID in the source.'),
      title: z.string().trim().min(1).max(200),
      created_at: time
        .optional()
        .describe(
          'When the chat was started; determines its position in lists. Default: the time of the first message that has one, otherwise now.',
        ),
      messages: z
        .array(ImportedMessage)
        .min(1)
        .max(10_000)
        .describe('The messages. A message must come after its parent.'),
      head_id: theirId.optional().describe('The last message of the active branch. Default: the last message.'),
      dry_run: z
        .boolean()
        .default(false)
        .describe('Validates the import without changing anything. `id` is null if the chat would be created.'),
    },
    bodyLimit: 32 << 20,
    reply: one(
      z
        .object({
          id: idOut.nullable().describe('The ID of the chat.'),
          created: z.boolean().describe('False: the chat already existed and was left unchanged.'),
          status: z.enum(['active', 'archived', 'trashed']),
          message_count: z.number().int().describe('The number of messages in the chat, on all branches.'),
        })
        .meta({ id: 'ImportedChat' }),
    ),
    status: 201,
    beyond: true,
  }),
}
