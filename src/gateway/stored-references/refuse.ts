import { refuse } from '#core/errors.ts'
import { textOf } from '../model/json.ts'
import type { StoredReference } from './find.ts'

/** Never left out instead, because that would change the question. Uses the vendor's format if clients react to it. */
export function refuseReference({ path, field, what, value }: StoredReference): never {
  const id = textOf(value)
  switch (field) {
    case 'previous_message_id':
      if (path.startsWith('diagnostics'))
        return refuse('invalid_parameter', {
          message: `\`${path}\` refers to an earlier message of an Anthropic account, which only your own endpoint can read. Leave out \`diagnostics\`, or use your own endpoint.`,
          param: path,
        })
      // Anthropic's SDK sends the whole conversation when it reads this (ThreadState.ts, @anthropic-ai/sdk 1.11.0).
      return refuse('not_found', {
        message: `No thread state was found for ${id}.`,
        param: 'thread',
        details: { code: 'thread_not_found' },
      })
    case 'previous_response_id':
      return refuse('invalid_parameter', {
        message: `Previous response with id '${id}' not found: responses aren’t stored for this model. Send the whole conversation as \`input\`.`,
        param: path,
        details: { code: 'previous_response_not_found' },
      })
    case 'item_reference':
      return refuse('not_found', {
        message: `Item with id '${id}' not found: it isn’t stored here. Set \`store: false\`, and send the items themselves.`,
        param: path,
      })
    default:
      return refuse('invalid_parameter', {
        message: `\`${path}\` refers to ${what} stored at a provider. Only your own endpoint there, called in that provider’s API format, can read it. Send the content instead.`,
        param: path,
      })
  }
}
