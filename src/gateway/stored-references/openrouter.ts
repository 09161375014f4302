import type { ReferenceFields } from './reference-fields.ts'

const paired = 'joins a call and its result within the request'
const grouped = 'groups calls in logs and keeps them with one provider; nothing is read by it'
const account = 'stands in answers about an account, never in a request for a model'

/** OpenRouter's requests beside OpenAI's fields (@openrouter/sdk 1.3.19), as they travel and as its SDK spells them. */
export const openrouter: ReferenceFields = {
  names: {
    preset: { what: 'a preset' },
    file_id: { what: 'a file' },
    fileId: { what: 'a file' },
    file_ids: { what: 'files' },
    fileIds: { what: 'files' },
    container_id: { what: 'a container' },
    containerId: { what: 'a container' },
    previous_response_id: { what: 'an earlier response' },
    previousResponseId: { what: 'an earlier response' },
    vector_store_ids: { what: 'vector stores' },
    vectorStoreIds: { what: 'vector stores' },
  },
  not: {
    call_id: paired,
    callId: paired,
    tool_call_id: paired,
    toolCallId: paired,
    tool_use_id: paired,
    toolUseId: paired,
    approval_request_id: paired,
    approvalRequestId: paired,
    itemId: paired,
    subagent_id: paired,
    subagentId: paired,
    connector_id: 'a service by its public name, with the authorization that the client sends along',
    connectorId: 'a service by its public name, with the authorization that the client sends along',
    session_id: grouped,
    sessionId: grouped,
    trace_id: grouped,
    traceId: grouped,
    parent_span_id: grouped,
    parentSpanId: grouped,
    user_id: 'an opaque name of the end user, for abuse checks',
    userId: 'an opaque name of the end user, for abuse checks',
    huggingFaceId: 'a model by its public name',
    allowedUserIds: account,
    creatorId: account,
    guardrailId: account,
    presetId: account,
    workspaceId: account,
  },
}
