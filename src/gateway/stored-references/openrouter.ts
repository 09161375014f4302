import type { ReferenceFields } from './reference-fields.ts'

const pairsCallAndResult = 'joins a call and its result within the request'
const groupsCalls = 'groups calls in logs and keeps them with one provider; nothing is read by it'
const account = 'stands in answers about an account, never in a request for a model'

/** OpenRouter's fields in addition to OpenAI's (@openrouter/sdk 1.3.19), in wire format and in its SDK's spelling. */
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
    call_id: pairsCallAndResult,
    callId: pairsCallAndResult,
    tool_call_id: pairsCallAndResult,
    toolCallId: pairsCallAndResult,
    tool_use_id: pairsCallAndResult,
    toolUseId: pairsCallAndResult,
    approval_request_id: pairsCallAndResult,
    approvalRequestId: pairsCallAndResult,
    itemId: pairsCallAndResult,
    subagent_id: pairsCallAndResult,
    subagentId: pairsCallAndResult,
    connector_id: 'a service by its public name, with the authorization that the client sends along',
    connectorId: 'a service by its public name, with the authorization that the client sends along',
    session_id: groupsCalls,
    sessionId: groupsCalls,
    trace_id: groupsCalls,
    traceId: groupsCalls,
    parent_span_id: groupsCalls,
    parentSpanId: groupsCalls,
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
