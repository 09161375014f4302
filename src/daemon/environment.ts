/**
 * Selects which of the daemon's environment variables each child program receives. The environment may hold API
 * keys, so nothing is inherited by default.
 */

type Environment = Readonly<Record<string, string | undefined>>

/** Passed by sshd besides the account: language, time zone, socket folder. */
const LOGIN = ['PATH', 'LANG', 'LANGUAGE', 'LC_.*', 'TZ', 'XDG_RUNTIME_DIR']
/** Read by Node and its libraries. */
const PROGRAM = [
  ...LOGIN,
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'TMPDIR',
  'NODE_(OPTIONS|PATH|V8_COVERAGE)',
  'LD_LIBRARY_PATH',
  'DYLD_.*',
]
const CARD = ['OLLAMA_.*', 'GGML_.*', 'CUDA_.*', 'NVIDIA_.*', 'HIP_.*', 'HSA_.*', 'ROCR_.*', 'GPU_.*', 'VK_.*']
const NETWORK = ['[A-Za-z]+_(proxy|PROXY)', 'SSL_CERT_(FILE|DIR)', 'NODE_(EXTRA_CA_CERTS|USE_ENV_PROXY)']
const REGISTRY = ['npm_config_(registry|cache|proxy|https_proxy|noproxy|cafile)', 'XDG_.*_HOME']

const only =
  (names: readonly string[]) =>
  (environment: Environment): Record<string, string> => {
    const pattern = new RegExp(`^(${names.join('|')})$`)
    return Object.fromEntries(
      Object.entries(environment).filter(
        (entry): entry is [string, string] => entry[1] !== undefined && pattern.test(entry[0]),
      ),
    )
  }

export const forLogin = only(LOGIN)
export const forAnother = only(['PATH', 'LANG', 'LC_.*', 'TZ'])
export const forKeeper = only(PROGRAM)
export const forEngine = only([...PROGRAM, ...CARD, ...NETWORK, ...REGISTRY])
