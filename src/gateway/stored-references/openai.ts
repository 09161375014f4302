import { isObject } from '../model/json.ts'
import type { ReferenceFields } from './reference-fields.ts'

const pairsCallAndResult = 'joins a call and its result within the request'

/** OpenAI's Chat Completions, Responses, images, and audio (openai 7.55.0, request types). */
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
    // In Completions, `prompt` is the text.
    prompt: { what: 'a prompt', when: isObject },
    audio: {
      what: 'an earlier answer',
      when: (value, { role }) => role === 'assistant' && isObject(value) && value['id'] !== undefined,
    },
    voice: { what: 'a voice', when: isObject },
  },
  not: {
    call_id: pairsCallAndResult,
    tool_call_id: pairsCallAndResult,
    caller_id: pairsCallAndResult,
    approval_request_id: pairsCallAndResult,
    connector_id: 'a service by its public name, with the authorization that the client sends along',
    stream_id: 'tells events of one socket apart, which is not served here',
  },
}
