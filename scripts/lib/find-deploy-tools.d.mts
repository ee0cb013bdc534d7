export const HELM_VERSION: string;
export const PYTHON_TOOLS: readonly string[];
export const toolsFolder: string;
export function findDeployTools(): {
  readonly helm: string | undefined;
  readonly validate: string | undefined;
  readonly hadolint: string | undefined;
};
