import type { Chunk, Loss } from '../../model/canonical-request.ts'

const knownParts: ReadonlySet<string> = new Set(
  // Gemini's parts (@google/genai, Part).
  `executableCode codeExecutionResult fileData inlineData toolCall toolResponse
  server_tool_use web_search_tool_result web_fetch_tool_result code_execution_tool_result
  bash_code_execution_tool_result text_editor_code_execution_tool_result tool_search_tool_result mcp_tool_use
  mcp_tool_result container_upload advisor_tool_result compaction fallback
  web_search_call file_search_call computer_call code_interpreter_call image_generation_call local_shell_call
  local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output mcp_call mcp_list_tools
  mcp_approval_request tool_search_call tool_search_output program program_output
  image audio document video guardContent citationsContent toolResult searchResult
  custom_tool_call input_audio refusal`.split(/\s+/),
)

/** The surface reports it as a loss. */
export const lostPart = (type: string): Chunk => ({ type: 'lost', name: lossOf(type) })

/** Unknown types share one name, because a vendor could send any number of them. */
export const lossOf = (type: string): Loss => `output.${knownParts.has(type) ? type : 'other'}`
