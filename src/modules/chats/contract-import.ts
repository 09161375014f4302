import { z } from 'zod'
import { endpoint, id, idOut, one, time, words, workspaceId } from '#core/contract.ts'

const theirId = z.string().min(1).max(200)

const ImportedMessage = z
  .strictObject({
    id: theirId.describe('Its id where it comes from, once in a chat.'),
    parent_id: theirId
      .nullable()
      .describe('The message before it, by that id: one that stands above. Null begins the chat.'),
    role: z.enum(['system', 'user', 'assistant']),
    text: words(1_000_000).describe('What was said.'),
    created_at: time.optional().describe('When it was said. Default: as the chat.'),
    model: z
      .string()
      .min(1)
      .max(200)
      .nullable()
      .default(null)
      .describe('The model that wrote it, as it was called there.'),
    files: z
      .array(id)
      .max(100)
      .default([])
      .describe('Files of the drive that it came with; one of another workspace is copied to the chat’s.'),
  })
  .meta({ id: 'ImportedMessage' })

export const importEndpoints = {
  import: endpoint('POST /chats/import', {
    summary: 'Bring a chat from elsewhere, with its branches',
    description:
      'Nothing is run and nothing costs. A chat is known by `source` and `external_id` within its workspace, whatever its time: brought again it is left as it is, and `created` is false. One that was deleted for good is made anew.',
    scope: 'chat:write',
    within: 'workspace_id',
    body: {
      workspace_id: workspaceId,
      source: z
        .string()
        .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be small letters, digits and dashes')
        .describe('Where it comes from, such as `chatgpt`.'),
      external_id: theirId.describe('Its id there.'),
      title: z.string().trim().min(1).max(200),
      created_at: time
        .optional()
        .describe('When it was begun, by which it is listed. Default: as its first message that says so, else now.'),
      messages: z.array(ImportedMessage).min(1).max(10_000).describe('Each behind the one that it answers.'),
      head_id: theirId.optional().describe('The end of the active branch. Default: the last message.'),
      dry_run: z
        .boolean()
        .default(false)
        .describe('Says what would become of it and changes nothing: `id` is null where it would be made.'),
    },
    bodyLimit: 32 << 20,
    reply: one(
      z
        .object({
          id: idOut.nullable().describe('Of the chat.'),
          created: z.boolean().describe('False: it was there already, and is left as it is.'),
          status: z.enum(['active', 'archived', 'trashed']),
          message_count: z.number().int().describe('That the chat has, on all branches.'),
        })
        .meta({ id: 'ImportedChat' }),
    ),
    status: 201,
    beyond: true,
  }),
}
