/**
 * The parts of the daemon's own environment that each program is given. It may hold keys of whoever started it, so
 * nothing is passed on by itself.
 */

type Environment = Readonly<Record<string, string | undefined>>

/** The variables that sshd gives besides the account: the language, the time zone, the place for sockets. */
const LOGIN = ['PATH', 'LANG', 'LANGUAGE', 'LC_.*', 'TZ', 'XDG_RUNTIME_DIR']
/** The variables that Node itself and its libraries go by. */
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
/** Variables that say which graphics card is used, and how. */
const CARD = ['OLLAMA_.*', 'GGML_.*', 'CUDA_.*', 'NVIDIA_.*', 'HIP_.*', 'HSA_.*', 'ROCR_.*', 'GPU_.*', 'VK_.*']
/** Variables that say how the network and registries are reached. */
const NETWORK = ['[A-Za-z]+_(proxy|PROXY)', 'SSL_CERT_(FILE|DIR)', 'NODE_(EXTRA_CA_CERTS|USE_ENV_PROXY)']
const REGISTRY = ['npm_config_(registry|cache|proxy|https_proxy|noproxy|cafile)', 'XDG_.*_HOME']

const only =
  (names: readonly string[]) =>
  (environment: Environment): Record<string, string> => {
    const wanted = new RegExp(`^(${names.join('|')})$`)
    return Object.fromEntries(
      Object.entries(environment).filter(
        (entry): entry is [string, string] => entry[1] !== undefined && wanted.test(entry[0]),
      ),
    )
  }

/** The environment for commands and terminals of the daemon's own account. */
export const forLogin = only(LOGIN)
/** The environment for commands and terminals of another account. */
export const forAnother = only(['PATH', 'LANG', 'LC_.*', 'TZ'])
/** The environment for the keeper. */
export const forKeeper = only(PROGRAM)
/** The environment for engines and their installers. */
export const forEngine = only([...PROGRAM, ...CARD, ...NETWORK, ...REGISTRY])
