import { isObject } from '../model/json.ts'
import type { ReferenceFields } from './reference-fields.ts'

const browser = 'what the client itself calls a tab, a download or a paper of its browser'

/** Anthropic's Messages (@anthropic-ai/sdk 1.11.0, request types). */
export const anthropic: ReferenceFields = {
  names: {
    file_id: { what: 'a file' },
    container: {
      what: 'a container',
      when: (value) => typeof value === 'string' || (isObject(value) && (value['id'] ?? null) !== null),
    },
    // Anthropic's own skills are public.
    skill_id: { what: 'a skill', when: (_, { type }) => type !== 'anthropic' },
    // From a thread, or from a diagnosis, which compares this request with an earlier one of the same account.
    previous_message_id: { what: 'an earlier message' },
    user_profile_id: { what: 'a profile' },
    workspace_id: { what: 'a workspace' },
  },
  not: {
    tool_use_id: 'joins a call and its result within the request',
    tool_id: 'names a call of the same conversation',
    user_id: 'an opaque name of the end user, for abuse checks',
    tab_id: browser,
    download_id: browser,
    document_ids: browser,
  },
}
