"""Small programs in StableHLO for the tests of the runtime."""


def add(tensor="tensor<f32>"):
    return f"""module @add {{
func.func public @main(%a: {tensor}, %b: {tensor}) -> {tensor} {{
  %0 = stablehlo.add %a, %b : {tensor}
  return %0 : {tensor}
}} }}"""


# Sums the rows of an (n, 3) array over n devices, by hand.
ALL_REDUCE = """module @total {{ sdy.mesh @mesh = <["i"={n}]>
func.func public @main(%a: tensor<{n}x3xf32>) -> (tensor<{n}x3xf32>, tensor<3xf32>) {{
  %0:2 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"i"}}, {{}}]>]
      out_shardings=[<@mesh, [{{"i"}}, {{}}]>, <@mesh, [{{}}]>] manual_axes={{"i"}}
      (%b: tensor<1x3xf32>) {{
    %1 = "stablehlo.all_reduce"(%b) <{{
        replica_groups = dense<{group}> : tensor<1x{n}xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        use_global_device_ids}}> ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %s = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }}) : (tensor<1x3xf32>) -> tensor<1x3xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x3xf32>) -> tensor<3xf32>
    sdy.return %1, %2 : tensor<1x3xf32>, tensor<3xf32>
  }} : (tensor<{n}x3xf32>) -> (tensor<{n}x3xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<{n}x3xf32>, tensor<3xf32>
}} }}"""


def all_reduce(n):
    return ALL_REDUCE.format(n=n, group=[list(range(n))])


def callback(index=0, effect=False):
    if effect:
        return f"""module @tell {{
func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {{
  stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) {{api_version = 4 : i32,
    has_side_effect = true, backend_config = {{index = {index} : ui64}}}} : (tensor<3xf32>) -> ()
  return %a : tensor<3xf32>
}} }}"""
    return f"""module @ask {{
func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {{
  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) {{api_version = 4 : i32,
    has_side_effect = false,
    backend_config = {{index = {index} : ui64}}}} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}} }}"""
