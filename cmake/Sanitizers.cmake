# SPDX-License-Identifier: Apache-2.0
# -DLIME_SANITIZE=address,undefined builds everything of ours under those sanitizers.
if(LIME_SANITIZE)
  target_compile_options(lime_build_flags INTERFACE
    -fsanitize=${LIME_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(lime_build_flags INTERFACE -fsanitize=${LIME_SANITIZE})
endif()
