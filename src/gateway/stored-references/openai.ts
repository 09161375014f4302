import { isObject } from '../model/json.ts'
import type { ReferenceFields } from './reference-fields.ts'

const paired = 'joins a call and its result within the request'

/** OpenAI's chat completions, responses, pictures and sound (openai 7.55.0, types of requests). */
export const openai: ReferenceFields = {
  names: {
    file_id: { what: 'a file' },
    file_ids: { what: 'files' },
    vector_store_ids: { what: 'vector stores' },
    container: { what: 'a container', when: (value) => typeof value === 'string' },
    container_id: { what: 'a container' },
    skill_id: { what: 'a skill' },
    tunnel_id: { what: 'a tunnel' },
    previous_response_id: { what: 'an earlier response' },
    comparison_response_id: { what: 'an earlier response' },
    conversation: { what: 'a conversation' },
    // Completions have their words there.
    prompt: { what: 'a prompt', when: isObject },
    audio: {
      what: 'an earlier answer',
      when: (value, { role }) => role === 'assistant' && isObject(value) && value['id'] !== undefined,
    },
    voice: { what: 'a voice', when: isObject },
  },
  not: {
    call_id: paired,
    tool_call_id: paired,
    caller_id: paired,
    approval_request_id: paired,
    connector_id: 'a service by its public name, with the authorization that the client sends along',
    stream_id: 'tells events of one socket apart, which is not served here',
  },
}
